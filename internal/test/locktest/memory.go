package locktest

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/test/redistest"
)

// InMemory runs on fake time what the suite says of a lock that keeps nothing in Redis, but for the cases of except: each has
// the reason why it means nothing there. A name in it that is no case fails the test.
func InMemory(t *testing.T, make Make, features Features, except map[string]string) {
	features = features.completed(make)
	unknown := map[string]bool{}
	for name := range except {
		unknown[name] = true
	}
	for _, c := range join(fakeTime, reentryCases, refusalCases, releaseCases, doCases, contextCases, misuseCases, eventCases) {
		delete(unknown, c.name)
		if except[c.name] != "" || c.when != nil && !c.when(features) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			redistest.Bubble(t, func(t *testing.T) {
				mini, client := redistest.InMemory(t)
				l := newLab(t, make, features, client)
				l.mini = mini
				c.run(l)
				l.finish()
				time.Sleep(time.Minute)
			})
		})
	}
	for name := range unknown {
		t.Errorf("there is no case %q to leave out", name)
	}
}
