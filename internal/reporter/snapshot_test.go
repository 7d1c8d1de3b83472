package reporter

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/watchdog"
)

var place = Place{"permit_semaphore", "p"}

func TestHoldsAndWaitsOfOnePlaceAreOneThing(t *testing.T) {
	var s Snapshot
	s.Hold(place, 2, time.Minute, Owner{ID: "b", Since: 7}, Owner{ID: "c", Since: 9})
	s.Hold(place, 1, time.Second, Owner{ID: "a", Since: -5})
	s.Wait(place, 2, 8, 3, time.Second)
	s.Wait(place, 0, 0, 1, time.Second)
	s.Wait(place, 1, 6, 0, 0)
	require.Equal(t, []Thing{{
		Place: place, Holds: 3, Held: -5, Waiters: 3, Waiting: 6, Waits: 4, Waited: 2 * time.Second,
		Owners: []Owner{{ID: "a", Since: -5}, {ID: "b", Since: 7}, {ID: "c", Since: 9}},
	}}, s.things)
}

func TestTheOldestOwnersAreReported(t *testing.T) {
	var s Snapshot
	for i := range 100 {
		since := watchdog.Moment((i*37)%100 - 50)
		s.Hold(place, 1, 0, Owner{ID: strconv.Itoa(int(since)), Since: since})
	}
	require.Len(t, s.things[0].Owners, registry.MostOwners)
	for i, o := range s.things[0].Owners {
		require.EqualValues(t, i-50, o.Since)
	}
	require.EqualValues(t, 100, s.things[0].Holds)
}

func TestAnEntryOutlivesTheLongestLeaseByTenMinutes(t *testing.T) {
	for lease, want := range map[time.Duration]time.Duration{
		time.Second: 10*time.Minute + 30*time.Second,
		time.Hour:   70 * time.Minute,
		Unleased:    24*time.Hour + 10*time.Minute,
	} {
		var s Snapshot
		s.Hold(place, 1, 2*time.Second, Owner{ID: "a", Since: 1})
		s.Hold(place, 1, lease, Owner{ID: "b", Since: 1})
		require.Equal(t, want, s.ttl())
	}
}

func TestASumTellsWhetherAThingHasChanged(t *testing.T) {
	thing := Thing{Place: place, Holds: 1, Held: 5, Waiters: 2, Waiting: 6, Waits: 3, Waited: 4, Owners: []Owner{{ID: "a", Since: 5}}}
	require.Equal(t, thing.sum(), thing.sum())
	for _, change := range []func(t *Thing){
		func(t *Thing) { t.Holds++ }, func(t *Thing) { t.Waiters++ }, func(t *Thing) { t.Waiting++ },
		func(t *Thing) { t.Waits++ }, func(t *Thing) { t.Waited++ },
		func(t *Thing) { t.Owners = []Owner{{ID: "b", Since: 5}} }, func(t *Thing) { t.Owners = []Owner{{ID: "a", Since: 6}} }, func(t *Thing) { t.Owners = nil }, func(t *Thing) { t.Owners = []Owner{{ID: "a", Since: 5, Kept: true}} },
	} {
		other := thing
		change(&other)
		require.NotEqual(t, thing.sum(), other.sum(), "%+v", other)
	}
}
