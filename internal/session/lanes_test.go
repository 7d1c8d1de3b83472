package session_test

import (
	"math/rand/v2"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
)

// lender is a session that never talks to its server.
func lender(t *testing.T) *session.Session {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = client.Close() })
	set := settings.Defaults()
	return session.Of(client, &set)
}

func TestTheLowestFreeLaneIsLent(t *testing.T) {
	s := lender(t)
	a, b, c := s.BorrowLane("k"), s.BorrowLane("k"), s.BorrowLane("k")
	require.Equal(t, []int64{0, 1, 2}, []int64{a.Lane, b.Lane, c.Lane})
	s.ReturnLane("k", b)
	s.ReturnLane("k", a)
	require.Equal(t, int64(0), s.BorrowLane("k").Lane)
	require.Equal(t, int64(1), s.BorrowLane("k").Lane)
	require.Equal(t, int64(3), s.BorrowLane("k").Lane)
}

// A number is never used twice, and the one above it is free for the operation that settles it: also after all lanes of
// a counter were returned and forgotten, for the server still remembers them.
func TestNumbersAscendByTwoAlsoWhenLanesAreForgotten(t *testing.T) {
	s := lender(t)
	last := int64(0)
	for range 5 {
		a, b := s.BorrowLane("k"), s.BorrowLane("other")
		require.Equal(t, last+2, a.Seq)
		require.Equal(t, last+4, b.Seq)
		last = b.Seq
		s.ReturnLane("k", a)
		s.ReturnLane("other", b)
	}
}

// The server keeps the lanes for two minutes and a half from the first operation of a half minute on.
func TestNumbersOfOneHalfMinuteAreOfOneRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lender(t)
		next := func() int64 {
			call := s.BorrowLane("k")
			s.ReturnLane("k", call)
			return call.Seq
		}
		require.EqualValues(t, 2, next())
		time.Sleep(30*time.Second - 1)
		require.EqualValues(t, 4, next())
		time.Sleep(time.Nanosecond)
		require.EqualValues(t, lane.Round, next())
		require.EqualValues(t, lane.Round+2, next())
		time.Sleep(time.Hour)
		require.EqualValues(t, 2*lane.Round, next())
	})
}

// In a round that did not end, what the server remembers would come to its end in the middle of the operations.
func TestARoundEndsAlsoWhileTheSystemIsSuspended(t *testing.T) {
	var suspended atomic.Int64
	defer clock.Fake(func() time.Duration { return time.Duration(suspended.Load()) })()
	s := lender(t)
	require.EqualValues(t, 2, s.BorrowLane("k").Seq)
	suspended.Add(int64(30 * time.Second))
	require.EqualValues(t, lane.Round, s.BorrowLane("k").Seq)
	require.EqualValues(t, lane.Round+2, s.BorrowLane("k").Seq, "a round lasts")
}

// A program may make a counter for each of its customers: those at rest cost nothing.
func TestACounterWhoseLanesAreAllReturnedIsForgotten(t *testing.T) {
	s := lender(t)
	for i := range 100 {
		key := strconv.Itoa(i)
		a, b := s.BorrowLane(key), s.BorrowLane(key)
		s.ReturnLane(key, a)
		s.ReturnLane(key, b)
	}
	busy := s.BorrowLane("busy")
	require.Equal(t, 1, reflect.ValueOf(s).Elem().FieldByName("lanes").FieldByName("lent").Len())
	s.ReturnLane("busy", busy)
}

func TestCountersAndSessionsHaveLanesOfTheirOwn(t *testing.T) {
	s, other := lender(t), lender(t)
	a, b, c := s.BorrowLane("a"), s.BorrowLane("b"), other.BorrowLane("a")
	require.Equal(t, []int64{0, 0, 0}, []int64{a.Lane, b.Lane, c.Lane})
	require.Equal(t, "redlatch_lanes:{a}:"+s.ID, a.Key)
	require.Equal(t, "redlatch_lanes:{b}:"+s.ID, b.Key)
	require.Equal(t, "redlatch_lanes:{a}:"+other.ID, c.Key)
	require.NotEqual(t, s.ID, other.ID)
	require.Equal(t, "redlatch_lanes::{tag}a:"+s.ID, s.BorrowLane("{tag}a").Key)
}

func TestALaneIsLentToOneAtATimeWithAscendingNumbersAndThereAreNoMoreThanBorrowers(t *testing.T) {
	const borrowers = 16
	s := lender(t)
	var (
		work sync.WaitGroup
		mu   sync.Mutex
		lent = map[int64]bool{}
		last = map[int64]int64{}
	)
	for range borrowers {
		work.Go(func() {
			for range 500 {
				call := s.BorrowLane("k")
				mu.Lock()
				if lent[call.Lane] || call.Seq <= last[call.Lane] || call.Lane >= borrowers {
					t.Errorf("lent %+v; lent at that time: %v, its last number: %d", call, lent[call.Lane], last[call.Lane])
				}
				lent[call.Lane], last[call.Lane] = true, call.Seq
				mu.Unlock()
				for range rand.N(100) { // somebody else may run
				}
				mu.Lock()
				lent[call.Lane] = false
				mu.Unlock()
				s.ReturnLane("k", call)
			}
		})
	}
	work.Wait()
	after := s.BorrowLane("k")
	require.Equal(t, []any{"redlatch_lanes:{k}:" + s.ID, int64(0), int64(2 * (borrowers*500 + 1))}, []any{after.Key, after.Lane, after.Seq})
}
