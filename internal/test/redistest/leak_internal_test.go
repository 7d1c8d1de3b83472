package redistest

import (
	"strings"
	"testing"
	"time"
)

func TestLeakIsFoundAndALateEndIsForgiven(t *testing.T) {
	stop := make(chan struct{})
	go func() { <-stop }()
	if err := awaitNoLeak(0); err == nil || !strings.Contains(err.Error(), "TestLeakIsFound") {
		t.Fatalf("a goroutine still runs, but the check said: %v", err)
	}
	time.AfterFunc(2*time.Second, func() { close(stop) }) // later than goleak alone would wait
	if err := awaitNoLeak(lastBreath); err != nil {
		t.Fatal(err)
	}
}
