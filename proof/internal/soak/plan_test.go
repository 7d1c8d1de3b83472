package soak

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/redlatch/redlatch/proof/internal/history"
	"github.com/redlatch/redlatch/proof/internal/sim"
)

func TestASeedFixesObjectsAndSteps(t *testing.T) {
	o := Options{For: time.Minute, Seed: 5, Topology: Single}
	if !reflect.DeepEqual(o.objects(history.Faulty), o.objects(history.Faulty)) {
		t.Error("two draws of the objects differ")
	}
	other := o
	other.Seed++
	if reflect.DeepEqual(o.objects(history.Faulty), other.objects(history.Faulty)) {
		t.Error("two seeds have the same objects")
	}
	steps := func() (all []sim.Step) {
		dice := rand.New(rand.NewPCG(5, 1))
		for range 100 {
			all = append(all, draw(dice, o.objects(history.Faulty)[:atOnce], 0, history.Faulty))
		}
		return all
	}
	if !reflect.DeepEqual(steps(), steps()) {
		t.Error("two draws of the steps differ")
	}
}

func TestObjectsFitTheirLaneAndTopology(t *testing.T) {
	for _, o := range []Options{
		{For: 10 * time.Minute, Topology: Single}, {For: 10 * time.Minute, Topology: Cluster}, {For: time.Minute, Topology: Single, Naive: true},
	} {
		for _, lane := range []history.Lane{history.Faulty, history.Calm} {
			names, kinds := map[string]bool{}, map[sim.Kind]bool{}
			for _, one := range o.objects(lane) {
				if names[one.Name] {
					t.Errorf("%s is there twice", one.Name)
				}
				names[one.Name], kinds[one.Kind] = true, true
			}
			if want := lane == history.Faulty && o.Topology == Single && !o.Naive; kinds[sim.Redlock] != want {
				t.Errorf("%+v, %q: redlocks are %v", o, lane, kinds[sim.Redlock])
			}
			if some := len(kinds) == 1; some != (o.Naive && lane == history.Faulty) {
				t.Errorf("%+v, %q: %v", o, lane, kinds)
			}
		}
	}
}

// A step is of an object of its own round, and so is the one within it.
func TestAStepStaysInItsRound(t *testing.T) {
	o := Options{For: time.Minute, Topology: Single}
	all := o.objects(history.Faulty)
	dice := rand.New(rand.NewPCG(1, 1))
	within := false
	for range 2000 {
		first := dice.IntN(len(all)/atOnce) * atOnce
		s := draw(dice, all[first:first+atOnce], first, history.Faulty)
		for one := &s; one != nil; one = one.Inner {
			within = within || one != &s
			if one.Object < first || one.Object >= first+atOnce {
				t.Fatalf("object %d is not in the round from %d on", one.Object, first)
			}
		}
	}
	if !within {
		t.Error("nothing is re-entered")
	}
}

func TestTheSourcesHaveAHash(t *testing.T) {
	_, one, err := sources()
	_, two, again := sources()
	if err != nil || again != nil || len(one) != 64 || one != two {
		t.Errorf("%q %v, %q %v", one, err, two, again)
	}
}
