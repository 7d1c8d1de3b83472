package interop_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fleet"
)

// What fleet and the command say of holders and waiters of both sides. Holders of Redisson are there without an entry of the
// registry, those of this library with one.

// seen is what is to be seen of an object, as the documents of the command have it.
type seen struct {
	Name, Kind          string
	Value, Total, Token int64
	Holders             []seenHolder
	Unconfirmed         []seenHolder
	Waiting             []seenWaiter
	Outsiders           int64
}

type seenHolder struct {
	Who, Owner, Side string
	Holds            int64
}

type seenWaiter struct {
	Who, Side string
	Calls     int64
	Place     int
}

func seenBy(o *fleet.Object) seen {
	s := seen{
		Name: o.Key, Kind: string(o.Kind), Value: o.Info.Value, Total: o.Info.Total, Token: o.Info.Token,
		Holders: []seenHolder{}, Unconfirmed: []seenHolder{}, Waiting: []seenWaiter{}, Outsiders: o.Waiting.Outsiders,
	}
	for _, h := range o.Holders {
		s.Holders = append(s.Holders, seenHolder{h.Who(), h.Owner, h.Side, h.Holds})
	}
	for _, c := range o.Unconfirmed {
		s.Unconfirmed = append(s.Unconfirmed, seenHolder{c.Who(), c.Owner, c.Side, c.Holds})
	}
	for _, w := range o.Waiting.Processes {
		s.Waiting = append(s.Waiting, seenWaiter{w.Who(), w.Side, w.Calls, w.Place})
	}
	return s
}

// A sight is objects of every kind that actors of both sides hold and wait for.
type sight struct {
	w         *world
	processes map[string]*goActor // by their labels
	want      []seen
	ends      []func()
}

// labelled makes a Go actor whose process has the label; those of one label are one process.
func (s *sight) labelled(t *testing.T, label string) *goActor {
	t.Helper()
	process := s.processes[label]
	if process == nil {
		process = s.w.process(t)
		require.NoError(t, redlatch.Configure(process.client, redlatch.WithLabel(label)))
		s.processes[label] = process
	}
	return &goActor{client: process.client, opts: process.opts}
}

// shownAs is how an actor is called where it holds or waits.
func shownAs(t *testing.T, a actor, o object, label string) string {
	t.Helper()
	if a.side() == "Java" {
		uuid, _, _ := strings.Cut(a.owner(o), ":")
		return "Redisson client " + uuid
	}
	host, err := os.Hostname()
	require.NoError(t, err)
	program, err := os.Executable()
	require.NoError(t, err)
	return fmt.Sprintf("%s %s pid %d (%s)", host, filepath.Base(program), os.Getpid(), label)
}

// fleetKinds are what fleet calls the kinds.
var fleetKinds = map[string]redlatch.Kind{
	"lock": redlatch.KindLock, "fair": redlatch.KindFairLock, "spin": redlatch.KindSpinLock, "fenced": redlatch.KindFencedLock, "read": redlatch.KindReadWriteLock,
	"write": redlatch.KindReadWriteLock, "group": redlatch.KindGroupLock, "semaphore": redlatch.KindSemaphore, "permits": redlatch.KindPermitSemaphore, "latch": redlatch.KindLatch,
}

// holds has an actor hold an object, twice where that can be, and answers what is to be seen of it and how it is given back.
func (s *sight) holds(t *testing.T, a actor, o object) (want seen, giveBack func()) {
	t.Helper()
	want = seen{
		Name: o.name, Kind: string(fleetKinds[o.kind]), Holders: []seenHolder{}, Unconfirmed: []seenHolder{}, Waiting: []seenWaiter{}}
	who := shownAs(t, a, o, "holder")
	switch o.kind {
	case "semaphore", "permits":
		_, err := a.setUp(o, 3)
		require.NoError(t, err)
		ids, err := a.acquire(o, 2, how{})
		require.NoError(t, err)
		want.Value = 1
		if o.kind == "permits" { // of the other kind nobody knows who has some
			want.Total = 3
			if a.side() == "Java" {
				who = "unknown" // an id does not say whose it is
			}
			for _, id := range slices.Sorted(slices.Values(ids)) {
				want.Holders = append(want.Holders, seenHolder{Who: who, Owner: id, Holds: 1})
			}
		}
		return want, func() { require.NoError(t, a.release(o, 2, ids)) }
	case "latch":
		_, err := a.setUp(o, 1)
		require.NoError(t, err)
		want.Value = 1
		return want, func() { require.NoError(t, a.countDown(o)) }
	}
	require.NoError(t, a.lock(o, how{}))
	require.NoError(t, a.lock(o, how{}))
	h := seenHolder{Who: who, Owner: strings.TrimSuffix(a.owner(o), ":write"), Holds: 2}
	switch o.kind {
	case "read", "write":
		h.Side = o.kind
	case "group":
		want.Holders = append(want.Holders, h) // one for each value
	case "fenced":
		want.Token = a.token(o)
	}
	want.Holders = append(want.Holders, h)
	return want, func() {
		require.NoError(t, a.unlock(o))
		require.NoError(t, a.unlock(o))
	}
}

// waits has an actor wait for an object and give it back. It waits for a read lock as a writer.
func waitsFor(a actor, o object) <-chan error {
	if o.kind == "read" {
		o.kind = "write"
	}
	return start(func() error {
		switch o.kind {
		case "semaphore", "permits":
			ids, err := a.acquire(o, 2, how{})
			if err != nil {
				return err
			}
			return a.release(o, 2, ids)
		case "latch":
			return a.await(o, 0)
		}
		if err := a.lock(o, how{}); err != nil {
			return err
		}
		return a.unlock(o)
	})
}

// play has one side hold objects of all kinds, and Java wait for them, with Go or alone.
func (s *sight) play(t *testing.T, holder func(*testing.T) actor, withGo bool) {
	t.Helper()
	for _, kind := range []string{"lock", "fair", "spin", "fenced", "read", "write", "group", "semaphore", "permits", "latch"} {
		a, o := holder(t), s.w.objectNamed(kind, "shown-%d")
		want, giveBack := s.holds(t, a, o)
		waiter := s.w.java(t)
		java := shownAs(t, waiter, o, "")
		got := []<-chan error{waitsFor(waiter, o)}
		switch kind {
		case "spin":
			want.Outsiders = -1 // its waiters listen to nothing
			if !withGo {
				want.Kind, want.Outsiders = string(redlatch.KindLock), 0 // nothing tells
			}
		case "fair":
			want.Waiting = append(want.Waiting, seenWaiter{Who: java, Calls: 1, Place: 1})
			eventually(t, "its place", func() bool { return s.w.queued(t, o) == 1 })
		default:
			want.Outsiders = 1
		}
		if withGo {
			got = append(got, waitsFor(s.labelled(t, "waiter"), o))
			w := seenWaiter{Who: shownAs(t, s.labelled(t, "waiter"), o, "waiter"), Calls: 1, Place: 1}
			switch kind {
			case "fair":
				w.Place = 2
			case "spin", "group", "latch":
				w.Place = 0
			case "read", "write":
				w.Side = "write"
			}
			want.Waiting = append(want.Waiting, w)
		}
		s.want = append(s.want, want)
		s.ends = append(s.ends, func() {
			giveBack()
			for _, got := range slices.Backward(got) { // Java's the last
				if kind == "read" || kind == "write" {
					s.passThrough(t, o, got)
				}
				await(t, "the "+kind, got)
			}
		})
	}
}

// passThrough reads and leaves until a writer has had the lock. What a writer says that leaves, a Java writer misses in the moment
// before it sleeps, and then looks again after 30 s; what a reader says, it never misses.
func (s *sight) passThrough(t *testing.T, o object, writer <-chan error) {
	t.Helper()
	a := s.w.golang(t)
	o.kind = "read"
	eventually(t, "the writer", func() bool {
		require.NoError(t, a.lock(o, how{}))
		require.NoError(t, a.unlock(o))
		return len(writer) > 0
	})
}

// end gives everything back, and waits for those who wait.
func (s *sight) end() {
	for _, end := range s.ends {
		end()
	}
}

// sideBySide has Java and Go hold one of everything each, and both wait for it.
func sideBySide(t *testing.T, w *world) {
	cases.Add(1)
	s := &sight{w: w, processes: map[string]*goActor{}}
	s.play(t, w.java, true)
	s.play(t, w.java, false)
	s.play(t, func(t *testing.T) actor { return s.labelled(t, "holder") }, true)
	defer s.end()

	var report *fleet.Report
	deadline := time.Now().Add(patience)
	for { // until the entries have everything
		var err error
		report, err = fleet.List(t.Context(), w.client)
		require.NoError(t, err)
		if slices.EqualFunc(s.want, listed(s.want, report), func(want, got seen) bool { return fmt.Sprint(want) == fmt.Sprint(got) }) || time.Now().After(deadline) {
			break
		}
	}
	require.Equal(t, s.want, listed(s.want, report))
	for _, want := range s.want {
		for _, kind := range []redlatch.Kind{fleet.Detect, redlatch.Kind(want.Kind)} {
			o, err := fleet.Get(t.Context(), w.client, kind, want.Name)
			require.NoError(t, err)
			require.Equal(t, want, seenBy(o), "asked for %q", kind)
			sinceAndLease(t, o)
		}
	}
	inTheCommand(t, w, s.want)
}

// listed are the objects of a report that are wanted, in that order; where there is none, an empty one.
func listed(want []seen, report *fleet.Report) []seen {
	got := make([]seen, len(want))
	for _, o := range report.Objects {
		if i := slices.IndexFunc(want, func(s seen) bool { return s.Name == o.Key }); i >= 0 {
			got[i] = seenBy(o)
		}
	}
	return got
}

// sinceAndLease looks at the times, which are not the same twice.
func sinceAndLease(t *testing.T, o *fleet.Object) {
	t.Helper()
	for _, h := range o.Holders {
		require.Equal(t, h.Client == nil, h.Since.IsZero(), "entries alone tell since when")
		if o.Kind == redlatch.KindPermitSemaphore {
			require.Negative(t, h.TTL, "it was asked for without a lease")
		} else {
			require.Positive(t, h.TTL)
		}
	}
}

// inTheCommand looks at the same by the command.
func inTheCommand(t *testing.T, w *world, want []seen) {
	t.Helper()
	var ls struct{ Objects []seen }
	w.document(t, &ls, "ls")
	ls.Objects = slices.DeleteFunc(ls.Objects, func(s seen) bool { return !strings.HasPrefix(s.Name, "shown-") })
	byName := func(a, b seen) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(ls.Objects, byName)
	require.Equal(t, slices.SortedFunc(slices.Values(want), byName), ls.Objects)
	table := w.redlatch(t, "ls")
	for _, want := range want {
		var inspect struct{ Object seen }
		w.document(t, &inspect, "inspect", want.Name)
		require.Equal(t, want, inspect.Object)
		for _, h := range want.Holders {
			require.Regexp(t, `(?m)^`+want.Name+` +`+redlatch.Kind(want.Kind).Noun()+` .*(\n .*)*`+regexp.QuoteMeta(h.Who), table)
		}
	}
	lock := want[0]
	require.Regexp(t, `(?s)held +by `+lock.Holders[0].Who+`\n +owner `+lock.Holders[0].Owner+`, 2 holds, .*waiting +1\. `+regexp.QuoteMeta(lock.Waiting[0].Who)+
		`, 1 call, .*\n +1 connection of others, as Redisson's, listens for it`, w.redlatch(t, "inspect", lock.Name))
}

// composites are shown by what they consist of: the lock of each member, or of each server. Somewhere among these the waiter stands.
func composites(t *testing.T, w *world, kind string) {
	bothWays(t, w, func(t *testing.T, first, second actor) {
		o := w.object(kind)
		require.NoError(t, first.lock(o, how{}))
		got := start(func() error { return second.lock(o, how{}) })
		parts := make([]*fleet.Object, 3)
		eventually(t, "the waiter", func() bool {
			waits := false
			for i := range parts {
				client, name := redlatch.Client(w.client), o.name
				if kind == "multi" {
					name = o.members()[i]
				} else {
					client = w.nodes[i]
				}
				var err error
				parts[i], err = fleet.Get(t.Context(), client, fleet.Detect, name)
				require.NoError(t, err)
				who := parts[i].Waiting
				waits = waits || second.side() == "Java" && who.Outsiders > 0 || second.side() == "Go" && len(who.Processes) > 0 && who.Outsiders == 0
			}
			return waits
		})
		for _, part := range parts {
			require.Equal(t, redlatch.KindLock, part.Kind)
			require.Len(t, part.Holders, 1)
			h := part.Holders[0]
			require.EqualValues(t, 1, h.Holds)
			require.Equal(t, first.side() == "Java", strings.HasPrefix(h.Who(), "Redisson client "+h.ClientID), h.Who())
			require.Equal(t, h.Owner, h.ClientID+h.Owner[36:])
			if java, is := first.(*javaActor); is {
				_, thread, _ := strings.Cut(java.owner(o), ":")
				require.Equal(t, thread, h.Owner[37:])
			}
		}
		require.NoError(t, first.unlock(o))
		await(t, "the "+kind, got)
		require.NoError(t, second.unlock(o))
	})
}

// Whoever operates both sides sees both, and acts on both.
func TestTheFleetIsOfBothSides(t *testing.T) {
	w := singleWorld(t)
	for name, run := range map[string]func(*testing.T, *world){
		"holders and waiters are shown side by side": sideBySide, "a lock is freed from a thread of Java": freedFromJava,
		"a Redisson client enters itself":      entersItself,
		"a multi-lock is shown by its members": func(t *testing.T, w *world) { composites(t, w, "multi") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, w)
		})
	}
}

func TestTheFleetOfAClusterIsOfBothSides(t *testing.T) { sideBySide(t, clusterWorld(t)) }

func TestARedlockIsShownOnEachServer(t *testing.T) { composites(t, redlockWorld(t), "redlock") }
