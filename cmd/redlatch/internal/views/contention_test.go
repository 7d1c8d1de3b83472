package views

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fleet"
)

// at is a report of one client about the lock x: what it has waited up to now, and the calls that wait, the oldest for so long.
func at(seconds int, waits int64, waited time.Duration, calls int64, oldest time.Duration) *fleet.Report {
	seen := time.UnixMilli(1764000000000).Add(time.Duration(seconds) * time.Second)
	c := &fleet.Client{ID: "c", Seen: seen, Objects: []fleet.ClientObject{{Kind: redlatch.KindLock, Key: "x", Waits: waits, Waited: waited, Waiters: calls}}}
	o := &fleet.Object{Kind: redlatch.KindLock, Key: "x"}
	if calls > 0 {
		o.Waiting.Processes = []fleet.Waiter{{ClientID: "c", Client: c, Calls: calls, Since: seen.Add(-oldest)}}
	}
	return &fleet.Report{At: seen, Clients: []*fleet.Client{c}, Objects: []*fleet.Object{o}}
}

func TestContentionIsHowManyWaitAtATime(t *testing.T) {
	for name, c := range map[string]struct {
		frames []*fleet.Report
		want   float64
	}{
		"of one report those who wait now":         {[]*fleet.Report{at(0, 7, time.Hour, 3, time.Minute)}, 3},
		"many short waits":                         {[]*fleet.Report{at(0, 0, 0, 0, 0), at(5, 100, 10*time.Second, 0, 0)}, 2},
		"a long wait counts for the time between":  {[]*fleet.Report{at(0, 0, 0, 1, time.Hour), at(5, 1, time.Hour, 0, 0)}, 1},
		"two calls that go on waiting":             {[]*fleet.Report{at(0, 0, 0, 2, time.Minute), at(5, 0, 0, 2, 65*time.Second)}, 2},
		"one that has begun in between":            {[]*fleet.Report{at(0, 0, 0, 0, 0), at(5, 0, 0, 1, time.Second)}, 0.2},
		"both":                                     {[]*fleet.Report{at(0, 5, time.Second, 0, 0), at(5, 15, 6*time.Second, 2, 2500*time.Millisecond)}, 2},
		"a frame without a new report changes nil": {[]*fleet.Report{at(0, 0, 0, 0, 0), at(5, 100, 10*time.Second, 0, 0), at(5, 100, 10*time.Second, 0, 0)}, 2},
		"a client that counts from 0 again":        {[]*fleet.Report{at(0, 100, 10*time.Second, 0, 0), at(5, 10, 5*time.Second, 0, 0)}, 1},
		"rest":                                     {[]*fleet.Report{at(0, 100, 10*time.Second, 0, 0), at(5, 100, 10*time.Second, 0, 0)}, 0},
	} {
		w := &Watch{}
		var top *Top
		for _, f := range c.frames {
			top = w.frame(f)
		}
		require.InDelta(t, c.want, top.Contention, 1e-9, name)
		require.InDelta(t, c.want, top.Objects[0].Contention, 1e-9, name)
	}
}

func TestWhatIsWaitedForMostComesFirst(t *testing.T) {
	seen := time.UnixMilli(1764000000000)
	object := func(key string, calls int64, age time.Duration) *fleet.Object {
		return &fleet.Object{Kind: redlatch.KindLock, Key: key, Waiting: fleet.Waiting{Processes: []fleet.Waiter{{ClientID: "c", Calls: calls, Since: seen.Add(-age)}}}}
	}
	r := &fleet.Report{At: seen, Objects: []*fleet.Object{{Key: "a"}, object("b", 1, time.Minute), object("c", 5, time.Second), object("d", 1, time.Hour)}}
	names := func(list []Object) (names string) {
		for _, o := range list {
			names += o.Name
		}
		return names
	}
	var shown []Object
	for _, c := range (&Watch{}).frame(r).Objects {
		shown = append(shown, c.Object)
	}
	require.Equal(t, "cdba", names(shown))
	require.Equal(t, "abcd", names(newLs(r, "").Objects))
}

func TestAnAgeIsShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-1: "0.0 s", 450 * time.Millisecond: "0.4 s", 23900 * time.Millisecond: "23 s", 60 * time.Second: "1 min", 250 * time.Second: "4 min 10 s",
		12*time.Minute + 20*time.Second: "12 min", 200 * time.Minute: "3 h 20 min", 72 * time.Hour: "3 d", 50 * time.Hour: "2 d 2 h",
	} {
		require.Equal(t, want, Age(d))
	}
}
