package dispatch

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestAServerIsPromptForAMomentAfterItsAnswer(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // never asked; it waits for a reply for 3 s
	defer client.Close()
	d := New(client, nil, func() time.Duration { return 0 })
	prompt := func(since, limit time.Duration) bool {
		d.one.answered.Store(time.Now().Add(-since).UnixNano())
		return d.Prompt("key", limit, time.Now())
	}
	require.True(t, prompt(0, 5*time.Second))
	require.False(t, prompt(0, 2*time.Second), "the client could wait for longer")
	require.False(t, prompt(promptWithin, 5*time.Second))
	require.False(t, prompt(-time.Hour, 5*time.Second), "the clock was set back: nobody knows")
}
