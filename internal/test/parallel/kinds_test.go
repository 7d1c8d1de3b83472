package parallel_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/locktest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/spinlock"
)

// A kind is a primitive in use. One kind is used in one round.
type kind struct {
	name       string
	goroutines int
	servers    int
	times      time.Duration // how much longer it is used than others; 0: no longer
	setUp      func(w *world)
	act        func(g *goroutine)
	force      func(w *world, process int) error // takes away what the calls want
	tearDown   func(w *world)
}

// simple is a kind of lock of one name. again is what may be taken within a hold of it.
func simple(name string, inner bool, make func(process []redlatch.Client, name string, opts ...redlatch.Option) locktest.Lock,
	terms ...func(g *goroutine) redlatch.Option,
) kind {
	var main, own [3]locktest.Lock
	var guarded [3]*section // of the name of each process, and of the one that they share
	refuses := redlatch.ErrNotReentrant
	if inner {
		refuses = nil
	}
	l := locks{terms: terms, pick: func(g *goroutine) target {
		lock, inside := main[g.client], guarded[2]
		switch {
		case g.special(8):
			var called string
			called, inside = g.world.passing()
			lock = make(g.world.of(g.client), called, g.world.defaults()...)
		case g.rushes:
			lock, inside = own[g.client], guarded[g.client]
		}
		t := target{lock: lock, sections: []*section{inside}, refuses: refuses, tokens: name == "fencedlock"}
		t.inner = t.lock
		return t
	}}
	return kind{
		name: name, goroutines: 64, servers: 1, act: l.act, tearDown: func(*world) {},
		setUp: func(w *world) {
			for process := range main {
				guarded[process] = &section{world: w}
				main[process] = make(w.of(process), w.name, w.defaults()...)
				own[process] = make(w.of(process), w.lone(process), w.defaults()...)
			}
		},
		force: func(_ *world, process int) error {
			_, err := main[process].ForceUnlock(context.Background())
			return err
		},
	}
}

// on makes locks that are on one server.
func on[L locktest.Lock](make func(client redlatch.Client, name string, opts ...redlatch.Option) L) func([]redlatch.Client, string, ...redlatch.Option) locktest.Lock {
	return func(process []redlatch.Client, name string, opts ...redlatch.Option) locktest.Lock {
		return make(process[0], name, opts...)
	}
}

// readers is a read-write lock that is mostly read.
func readers() kind {
	var main, own [3]*rwlock.Lock
	var guarded [3]*section
	l := locks{terms: []func(g *goroutine) redlatch.Option{atLeast, noHandOff, preference}, pick: func(g *goroutine) target {
		lock, inside := main[g.client], guarded[2]
		switch {
		case g.special(8):
			var name string
			name, inside = g.world.passing()
			lock = rwlock.New(g.world.of(g.client)[0], name, g.world.defaults()...)
		case g.rushes:
			lock, inside = own[g.client], guarded[g.client]
		}
		if g.one(100) || g.special(10) {
			t := target{lock: lock.Writer(), sections: []*section{inside}, inner: lock.Reader()}
			if g.one(2) {
				t.inner = t.lock
			}
			return t
		}
		t := target{lock: lock.Reader(), sections: []*section{inside}, inner: lock.Reader(), shared: true}
		if g.one(4) {
			t.inner, t.refuses = lock.Writer(), redlatch.ErrUpgrade
		}
		return t
	}}
	return kind{
		name: "rwlock", goroutines: 256, servers: 1, times: 5, // its goroutines share what those of others have in turn
		act: l.act, tearDown: func(*world) {},
		setUp: func(w *world) {
			for process := range main {
				guarded[process] = &section{world: w}
				main[process] = rwlock.New(w.of(process)[0], w.name, w.defaults()...)
				own[process] = rwlock.New(w.of(process)[0], w.lone(process), w.defaults()...)
			}
		},
		force: func(_ *world, process int) error {
			_, err := main[process].ForceUnlock(context.Background())
			return err
		},
	}
}

// members are multi-locks that overlap, and their members by themselves.
func members() kind {
	sets := [][]int{{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 1, 2}, {3, 4}, {4, 5, 0}, {0}, {1}, {4}, {5}}
	var guarded []*section
	make := func(w *world, process int, set []int) locktest.Lock {
		client, opts := w.of(process)[0], w.defaults()
		var all []redlatch.Locker
		for _, i := range set {
			name := fmt.Sprint(w.name, i)
			switch i {
			case 4:
				all = append(all, fairlock.New(client, name, opts...))
			case 5:
				all = append(all, rwlock.New(client, name, opts...).Writer())
			default:
				all = append(all, rlock.New(client, name, opts...))
			}
		}
		if lone, ok := all[0].(locktest.Lock); ok && len(all) == 1 {
			return lone
		}
		return multilock.New(all, w.patience()...)
	}
	l := locks{pick: func(g *goroutine) (t target) {
		set := sets[g.dice.IntN(len(sets))]
		t.lock = make(g.world, g.client, set)
		for _, i := range set {
			t.sections = append(t.sections, guarded[i])
		}
		t.inner = t.lock
		return t
	}}
	return kind{
		name: "multilock", goroutines: 64, servers: 1, act: l.act, tearDown: func(*world) {},
		setUp: func(w *world) {
			for range 6 {
				guarded = append(guarded, &section{world: w})
			}
		},
		force: func(w *world, process int) error {
			_, err := make(w, process, sets[w.roll(len(sets))]).ForceUnlock(context.Background())
			return err
		},
	}
}

// group are groups of one key whose values overlap.
func group() kind {
	sets := [][]string{{"a", "b"}, {"b", "c"}, {"c", "d"}, {"a", "b", "c"}, {"a"}, {"d"}}
	guarded := map[string]*section{}
	var main [3][]locktest.Lock
	l := locks{terms: []func(g *goroutine) redlatch.Option{atLeast}, pick: func(g *goroutine) (t target) {
		i := g.dice.IntN(len(sets))
		t.lock = main[g.client][i]
		for _, value := range sets[i] {
			t.sections = append(t.sections, guarded[value])
		}
		return t
	}}
	return kind{
		name: "group", goroutines: 64, servers: 1, act: l.act, tearDown: func(*world) {},
		setUp: func(w *world) {
			for _, value := range []string{"a", "b", "c", "d"} {
				guarded[value] = &section{world: w}
			}
			for process := range main {
				for _, set := range sets {
					main[process] = append(main[process], multilock.NewGroup(w.of(process)[0], w.name, set, w.defaults()...))
				}
			}
		},
		force: func(w *world, process int) error {
			_, err := main[process][w.roll(len(sets))].ForceUnlock(context.Background())
			return err
		},
	}
}

// patient is the node timeout of a redlock.
const patient = 5 * time.Second

// kinds are all primitives. Each round makes its own.
var kinds = []func() kind{
	func() kind { return simple("rlock", true, on(rlock.New), atLeast, noHandOff) },
	func() kind { return simple("non-reentrant", false, on(rlock.NewNonReentrant), atLeast, noHandOff) },
	func() kind { return simple("fairlock", true, on(fairlock.New), atLeast, noHandOff, patience) },
	readers,
	func() kind { return simple("spinlock", true, on(spinlock.New), atLeast, noHandOff) },
	func() kind { return simple("fencedlock", true, on(fencedlock.New), atLeast, noHandOff) },
	members,
	group,
	func() kind {
		k := simple("redlock", true, func(clients []redlatch.Client, name string, opts ...redlatch.Option) locktest.Lock {
			return redlock.New(clients, name, append(opts, redlock.WithNodeTimeout(patient))...) // a busy machine is no server that is down
		}, noHandOff)
		k.servers = 3
		return k
	},
	permits,
	identified,
	latches,
}
