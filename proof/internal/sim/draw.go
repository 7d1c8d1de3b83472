package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// longestPoll is the longest time between two questions of a waiter: the library's default.
const longestPoll = 3 * time.Second

// shortPatience is about the shortest that a fair lock accepts.
const shortPatience = 3 * time.Second

// longestPatience is the longest that a step has. Its leases are shorter.
const longestPatience = 40 * time.Second

// Longest is how long a lock, or a place in its queue, may be taken by a request that is executed after its client died.
const Longest = longestPatience + handed + time.Second

// Draw makes the plan of a seed. Of four plans one has no faults, one few and two many.
func Draw(seed uint64) Plan {
	d := dice{rand.New(rand.NewPCG(seed, 0))}
	p := Plan{Seed: seed}
	for i := range 1 + d.IntN(2) {
		p.Objects = append(p.Objects, d.object(fmt.Sprintf("o%d", i)))
	}
	pace := pick(d, paces...)
	for range 2 + d.IntN(3) {
		c := Client{Timeout: pick(d, 300*time.Millisecond, time.Second, 3*time.Second), RESP2: d.IntN(4) == 0}
		workers := 1 + d.IntN(3)
		if d.IntN(10) == 0 { // a crowd, in which a lock stays for long
			workers = 8
		}
		if o := p.Objects[0]; len(p.Objects) == 1 && (o.Kind == Semaphore || o.Kind == Permits) && d.IntN(2) == 0 { // many for few permits
			workers = 8
		}
		for range workers {
			var steps []Step
			for range pace.steps + d.IntN(pace.steps) {
				steps = append(steps, d.step(p.Objects, pace.most))
			}
			c.Workers = append(c.Workers, steps)
		}
		p.Clients = append(p.Clients, c)
	}
	mix := faultKinds
	if d.IntN(2) == 0 { // of a mix of all kinds, one hides what another one would show
		mix = []FaultKind{pick(d, faultKinds...), pick(d, faultKinds...)}
	}
	for range []int{0, 3, 10, 25}[seed%4] {
		p.Faults = append(p.Faults, d.fault(p, mix))
	}
	return p
}

// kinds are those of which one is drawn: locks more often than what counts.
var kinds = []Kind{Lock, Fenced, Fair, RW, Multi, Redlock, Semaphore, Permits, Latch, Lock, Fenced, Fair, RW, Group}

func (d dice) object(name string) Object {
	o := Object{Name: name, Kind: pick(d, kinds...)}
	switch o.Kind {
	case Semaphore, Permits:
		o.N = 1 + d.Int64N(4)
	case Latch:
		o.N = 3 + d.Int64N(6)
	case RW:
		o.WritersFirst = d.IntN(3) == 0
	case Fenced:
		o.Clock = d.IntN(3) == 0
	case Multi:
		o.Mixed = d.IntN(3) == 0
	}
	return o
}

// DrawObject draws what is shared under a name.
func DrawObject(chance *rand.Rand, name string) Object { return dice{chance}.object(name) }

// DrawStep draws one step, whose pauses and holds are mostly no longer than most.
func DrawStep(chance *rand.Rand, objects []Object, most time.Duration) Step {
	return dice{chance}.step(objects, most)
}

type dice struct{ *rand.Rand }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// within is a duration up to most, mostly a short one. No two are equal, so that what they begin has instants of its own.
func (d dice) within(most time.Duration) time.Duration {
	f := d.Float64()
	return time.Duration(f*f*float64(most)) + time.Duration(d.Int64N(int64(time.Millisecond)))
}

func (d dice) rarely(n int, t time.Duration) time.Duration {
	if d.IntN(n) == 0 {
		return t
	}
	return 0
}

// A pace is how many steps a worker takes at least, and how long it thinks and holds at most.
type pace struct {
	steps int
	most  time.Duration
}

// paces are those of plans: in busy ones a lock goes from hand to hand, in calm ones leases end and watchdogs renew.
var paces = []pace{{4, 3 * time.Second}, {8, 300 * time.Millisecond}, {40, 3 * time.Millisecond}}

func (d dice) step(objects []Object, most time.Duration) Step {
	s := Step{Think: d.within(most), Object: d.IntN(len(objects)), Hold: d.within(most)}
	o := objects[s.Object]
	s.Way = pick(d, ways[o.Kind]...)
	if s.Way == "add" {
		s.N, s.Cancel = pick[int64](d, -2, -1, 1, 2), d.rarely(6, d.within(time.Second))
		return s
	}
	if s.Way == "count" {
		s.N, s.Cancel = pick[int64](d, 1, 1, 2, 4), d.rarely(6, d.within(3*time.Millisecond))
		return s
	}
	s.Try = d.IntN(5) == 0
	if o.Kind == Semaphore || o.Kind == Permits {
		s.N = 1 + d.Int64N(o.N)
	}
	s.Wait = d.rarely(4, pick(d, time.Millisecond, 50*time.Millisecond, time.Second, 10*time.Second))
	s.Cancel = d.rarely(6, d.within(pick(d, 3*time.Millisecond, 5*time.Second))) // the short ones while a question is on its way
	if s.Way == "spin" || s.Way == "redlock" {                                   // they poll often
		s.Wait = cmp.Or(s.Wait, 15*time.Second)
		if s.Way == "spin" {
			s.BackOff = pick(d, 0, 0, 5*time.Millisecond, time.Second)
		}
	} else {
		s.Poll = pick(d, 0, 200*time.Millisecond, 500*time.Millisecond, time.Second, longestPoll)
	}
	if o.Kind == Semaphore || o.Kind == Latch {
		if s.Wait == 0 { // permits may be gone with their client, and those who count down as well
			s.Wait = 20 * time.Second
		}
		return s
	}
	switch s.Way {
	case "rlock", "nonreentrant", "spin", "first", "write", "read", "fenced", "fenced nonreentrant", "redlock":
		s.Scripted = d.IntN(8) == 0
	case "fair":
		s.Patience = pick(d, 0, 0, shortPatience, longestPatience)
	}
	s.Prefer = s.Way == "write" && !o.WritersFirst && d.IntN(8) == 0
	if o.Kind == Permits {
		s.Scripted, s.See = d.IntN(8) == 0, pick(d, "", "", "", AtOnce, Midway, Beside, After)
		switch d.IntN(6) {
		case 0:
			s.NoLease, s.Wait = true, cmp.Or(s.Wait, 20*time.Second)
			return s
		case 1, 2, 3: // permits of equal terms move without a command
			s.N = 1 + d.Int64N(min(o.N, 2))
			return s
		}
	}
	plain := o.Kind == RW && d.IntN(4) > 0 // so that readers of one client share a hold, or have that of a writer, if it is short
	switch {
	case plain && s.Way == "write" && d.IntN(4) > 0:
		s.Hold = d.within(time.Millisecond)
	case plain:
	case d.IntN(4) == 0:
		s.Lease = pick(d, 300*time.Millisecond, 2*time.Second, 10*time.Second) + d.within(time.Second)
	default:
		s.Watchdog = pick(d, 0, 2*time.Second, 6*time.Second, 12*time.Second)
	}
	if d.IntN(5) == 0 && most >= time.Second || d.IntN(80) == 0 {
		s.Hold = d.within(40 * time.Second) // through renewals
	}
	s.MaxHold = d.rarely(8, 500*time.Millisecond+d.within(12*time.Second))
	if plain {
		s.MaxHold = 0
	} else if s.Lease == 0 && s.MaxHold == 0 && o.Kind != Permits && o.Kind != Redlock && s.Way != "multi" {
		s.AtLeast = d.rarely(8, pick(d, 100*time.Millisecond, 2*time.Second, 12*time.Second, 40*time.Second)+d.within(time.Second))
	}
	s.Extend = d.rarely(6, time.Second+d.within(20*time.Second))
	s.Leave = d.IntN(12) == 0
	if o.Kind == Fenced {
		s.Claim, s.Write, s.By = d.IntN(3) == 0, d.IntN(3) > 0, d.IntN(2) == 0
		s.Hasty = d.rarely(5, d.within(pick(d, 2*time.Millisecond, 2*time.Second)))
		s.Late = d.rarely(4, d.within(pick(d, most, 20*time.Second)))
	}
	if d.IntN(5) == 0 && reenters(s.Way) {
		inner := d.step([]Object{o}, most)
		inner.Object, inner.Inner, inner.AtLeast, inner.BackOff = s.Object, nil, 0, 0
		inner.Way, inner.Scripted, inner.Think = s.Way, s.Scripted, d.within(most)
		if s.Way == "write" && d.IntN(2) == 0 {
			inner.Way = "read"
		}
		s.Inner = &inner
	}
	return s
}

func reenters(way string) bool {
	switch way {
	case "rlock", "fenced", "fair", "write", "read", "multi", "redlock", "group", "first value", "second value":
		return true
	}
	return false
}

// faultKinds are those of which one is drawn: what is named twice comes twice as often.
var faultKinds = []FaultKind{
	LoseRequest, LoseRequestAndCut, LoseReply, LoseReply, LoseReplyAndCut, LateRequest, LateReply, LateCopy, LateCopy,
	LoseMessages, LoseMessages, LoseMessages, Cut, Silence, Refuse, Freeze, Kill, Vanish, Restart, Stop, Down, Force, Delete,
}

func (d dice) fault(p Plan, mix []FaultKind) Fault {
	f := Fault{At: d.within(pick(d, time.Second, 10*time.Second, 60*time.Second)), Client: d.IntN(len(p.Clients)), Object: d.IntN(len(p.Objects))}
	f.Kind = pick(d, mix...)
	switch f.Kind {
	case LateRequest, LateReply:
		f.For = pick(d, d.within(time.Second), d.within(12*time.Second))
	case LateCopy:
		f.For = pick(d, d.within(time.Second), d.within(30*time.Second))
	case LoseMessages:
		f.For = d.within(20 * time.Second)
	case Refuse, Freeze, Stop:
		f.For = pick(d, d.within(time.Second), d.within(15*time.Second))
	case Kill, Vanish:
		if d.IntN(2) == 0 { // few clients are left otherwise
			f.Kind = LoseMessages
			f.For = d.within(20 * time.Second)
		}
	case Down:
		f.Server, f.For = 1+d.IntN(servers-1), d.within(15*time.Second)
		if !slices.ContainsFunc(p.Objects, func(o Object) bool { return o.Kind == Redlock }) {
			f.Kind = Cut
		}
	case Force, Delete:
		if p.Objects[f.Object].Kind == Latch { // whose key another program deletes when it has counted down
			f.Kind = Force
		}
		if !p.Objects[f.Object].Deletable() {
			f.Kind = Cut
		}
	}
	return f
}

// Deletable tells whether an object can be taken from its holders without making it another one.
func (o Object) Deletable() bool {
	return o.Kind == Lock || o.Kind == Fenced || o.Kind == Fair || o.Kind == RW || o.Kind == Latch || o.Kind == Group
}
