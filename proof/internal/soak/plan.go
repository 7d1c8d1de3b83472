package soak

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redlatch/redlatch/proof/internal/history"
	"github.com/redlatch/redlatch/proof/internal/sim"
)

// Options are what a soak is asked for.
type Options struct {
	For      time.Duration
	Seed     uint64
	Out      string // the folder, which must not exist
	Topology string // single, sentinel or cluster
	Naive    bool   // with a naive lock, which has to be convicted
	Workers  int
}

// round is after how long the workers go on to other objects, and at once is how many objects there are in a round.
const (
	round  = 3 * time.Second
	atOnce = 6
)

// objects are those of all rounds of a lane: atOnce for each, in their order. A few more follow the last round, for
// workers whose clock is a little ahead.
func (o Options) objects(lane history.Lane) (all []sim.Object) {
	dice := rand.New(rand.NewPCG(o.Seed, uint64(len(lane))))
	for r := range int(o.For/round) + 1 {
		for i := range atOnce {
			name := fmt.Sprintf("r%d-%d", r, i)
			if lane != history.Faulty {
				name = string(lane) + "-" + name
			}
			one := sim.DrawObject(dice, name)
			for !o.possible(one, lane) {
				one = sim.DrawObject(dice, name)
			}
			all = append(all, one)
		}
	}
	return all
}

// possible tells whether a topology has an object: a redlock needs servers that know nothing of one another.
func (o Options) possible(one sim.Object, lane history.Lane) bool {
	switch {
	case lane == history.Faulty && o.Naive:
		return one.Kind == sim.Lock
	case one.Kind == sim.Redlock:
		return lane == history.Faulty && o.Topology == Single
	}
	return true
}

// draw draws the next step of a worker. What takes an object for seconds is rare here: the simulation, where time costs
// nothing, has more of it. In the calm lane there is none.
func draw(dice *rand.Rand, objects []sim.Object, first int, lane history.Lane) sim.Step {
	most := []time.Duration{3 * time.Millisecond, 3 * time.Millisecond, 30 * time.Millisecond, 300 * time.Millisecond}[dice.IntN(4)]
	seldom := dice.IntN(8) == 0
	if lane == history.Calm {
		most, seldom = 3*time.Millisecond, false
	}
	s := sim.DrawStep(dice, objects, most)
	for one := &s; one != nil; one = one.Inner {
		one.Object += first
		one.Claim, one.Write, one.Late = false, false, 0 // the soak does not read the data in the end
		if one.Leave = one.Leave && seldom; !seldom {
			one.AtLeast, one.Hold = min(one.AtLeast, 100*time.Millisecond), min(one.Hold, most)
		}
		one.AtLeast, one.Hold, one.Extend = min(one.AtLeast, 3*time.Second), min(one.Hold, 12*time.Second), min(one.Extend, 10*time.Second)
		if kind := objects[one.Object-first].Kind; kind == sim.Semaphore || kind == sim.Latch {
			one.Wait = min(one.Wait, round/2) // what it waits for may be in the hands of the dead
		} else if one.Watchdog == 0 && one.Lease == 0 && dice.IntN(8) > 0 {
			one.Watchdog = []time.Duration{2 * time.Second, 6 * time.Second}[dice.IntN(2)]
		}
	}
	return s
}
