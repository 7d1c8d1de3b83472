package reporter

import (
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
)

func seconds(n ...float64) (all []time.Duration) {
	for _, s := range n {
		all = append(all, time.Duration(s*float64(time.Second)))
	}
	return all
}

func TestNothingIsSentInTheFirstSecond(t *testing.T) {
	bubble(t, func(k *kit) {
		k.hold("a")
		k.pass(time.Second - 1)
		require.Empty(t, k.sent)
		k.pass(1)
		require.Len(t, k.sent, 1)
		require.True(t, k.sent[0].Whole)
		require.Equal(t, 10*time.Minute+30*time.Second, k.sent[0].TTL)
		require.Equal(t, Place{"lock", "a"}, k.sent[0].Things[0].Place)
	})
}

// Each acquisition of a program calls Wake, on the hottest paths too.
func TestToWakeAReporterThatIsAwakeAllocatesNothing(t *testing.T) {
	bubble(t, func(k *kit) {
		k.hold("a")
		require.True(t, k.Awake.Load())
		require.Zero(t, testing.AllocsPerRun(1000, k.Wake))
		k.free("a")
		k.pass(time.Hour)
	})
}

func TestAnIdleReporterNeitherLooksNorSends(t *testing.T) {
	bubble(t, func(k *kit) {
		k.pass(time.Hour)
		require.Zero(t, k.looks)
		k.hold("a")
		k.free("a")
		k.pass(time.Second)
		looks := k.looks
		k.pass(time.Hour)
		require.Equal(t, looks, k.looks, "it is at rest")
		require.Empty(t, k.sent)
	})
}

// Its Wake finds the reporter awake.
func TestAHoldThatBeginsWhileTheReporterGoesToRestIsReported(t *testing.T) {
	bubble(t, func(k *kit) {
		k.hold("a")
		k.free("a")
		k.looked = func() {
			k.looked = nil
			k.hold("b")
		}
		k.pass(3 * time.Second)
		require.Len(t, k.sent, 1)
	})
}

func TestAProgramThatOnlyTakesAndGivesBackSendsNothing(t *testing.T) {
	bubble(t, func(k *kit) {
		for range 10_000 {
			k.hold("a")
			k.pass(40 * time.Millisecond)
			k.free("a")
			k.pass(time.Millisecond)
		}
		require.Empty(t, k.sent)
		require.LessOrEqual(t, k.looks, 2*411, "twice a second at most")
		k.hold("b")
		k.pass(2 * time.Second)
		require.Len(t, k.sent, 1)
	})
}

func TestAWaitIsReportedLikeAHold(t *testing.T) {
	bubble(t, func(k *kit) {
		k.waits[Place{"semaphore", "s"}] = time.Now()
		k.Wake()
		k.pass(time.Second)
		require.Len(t, k.sent, 1)
		require.EqualValues(t, 1, k.sent[0].Things[0].Waiters)
	})
}

// A call that has joined a queue a moment ago is not counted among its waiters yet, and does not wake the reporter again.
func TestACallThatIsAboutToWaitKeepsTheReporterAwake(t *testing.T) {
	bubble(t, func(k *kit) {
		k.busy = true
		k.Wake()
		k.pass(time.Second)
		k.busy = false
		k.waits[Place{"lock", "a"}] = time.Now()
		k.pass(2 * time.Second)
		require.Len(t, k.sent, 1)
	})
}

func TestOnlyChangesTravel(t *testing.T) {
	bubble(t, func(k *kit) {
		k.hold("a")
		k.hold("b")
		k.pass(time.Second)
		k.hold("c")
		k.free("a")
		k.pass(5 * time.Second)
		k.pass(5 * time.Second)
		require.Equal(t, seconds(1, 6, 11), k.at)
		changed, removed := k.counts()
		require.Equal(t, []int{2, 1, 0}, changed)
		require.Equal(t, []int{0, 1, 0}, removed)
		for i, m := range k.sent {
			require.Equal(t, i == 0, m.Whole)
		}
	})
}

func TestAHoldThatIsFollowedByAnotherIsAChange(t *testing.T) {
	bubble(t, func(k *kit) {
		k.hold("a")
		k.hold("b")
		k.pass(time.Second)
		k.hold("a") // by another owner
		k.pass(5 * time.Second)
		require.Len(t, k.sent[1].Things, 1)
	})
}

func TestAnEntryThatHasGoneIsWrittenAnew(t *testing.T) {
	bubble(t, func(k *kit) {
		k.hold("a")
		k.hold("b")
		k.pass(time.Second)
		k.answer = func(m Message) Answer {
			if m.Whole {
				return Answer{Outcome: Written, Entries: 1}
			}
			return Answer{Outcome: Gone}
		}
		k.pass(5 * time.Second)
		changed, _ := k.counts()
		require.Equal(t, []int{2, 0, 2}, changed)
		require.True(t, k.sent[2].Whole)
	})
}

func TestAReportWithoutAnAnswerIsNotSentAgainAndTheNextIsWhole(t *testing.T) {
	bubble(t, func(k *kit) {
		k.hold("a")
		k.pass(time.Second)
		k.answer = func(Message) Answer { return Answer{} }
		k.pass(5 * time.Second)
		k.answer = func(Message) Answer { return Answer{Outcome: Written, Entries: 1} }
		k.pass(5 * time.Second)
		require.Equal(t, seconds(1, 6, 11), k.at)
		require.False(t, k.sent[1].Whole)
		require.True(t, k.sent[2].Whole)
		require.Len(t, k.sent[2].Things, 1)
	})
}

func TestAfterARefusalNothingIsSentForTenMinutes(t *testing.T) {
	bubble(t, func(k *kit) {
		k.hold("a")
		k.pass(time.Second)
		k.answer = func(Message) Answer { return Answer{Outcome: Refused} }
		k.pass(5 * time.Second)
		require.Len(t, k.sent, 2)
		k.hold("b")
		k.pass(10*time.Minute - 1)
		require.Len(t, k.sent, 2)
		k.answer = func(Message) Answer { return Answer{Outcome: Written, Entries: 1} }
		k.pass(1)
		require.Len(t, k.sent, 3)
		require.True(t, k.sent[2].Whole)
		require.Len(t, k.sent[2].Things, 2)
	})
}

func TestAProgramWithoutTheRightSendsNothingMore(t *testing.T) {
	bubble(t, func(k *kit) {
		k.answer = func(Message) Answer { return Answer{Outcome: Barred} }
		k.hold("a")
		k.pass(24 * time.Hour)
		k.free("a")
		k.hold("b")
		k.Configure(func(c *Config) { c.Label = "x" })
		k.pass(24 * time.Hour)
		require.Len(t, k.sent, 1)
		require.Empty(t, k.removed)
	})
}

func TestMoreThan500ThingsAreSplit(t *testing.T) {
	bubble(t, func(k *kit) {
		for i := range 501 {
			k.hold(strconv.Itoa(i))
		}
		k.pass(time.Second)
		changed, _ := k.counts()
		require.Equal(t, []int{500, 1}, changed)
		require.True(t, k.sent[0].Whole)
		require.False(t, k.sent[1].Whole)

		for i := range 501 {
			k.free(strconv.Itoa(i))
		}
		for i := range 700 {
			k.hold(fmt.Sprint("new", i))
		}
		k.pass(5 * time.Second)
		changed, removed := k.counts()
		require.Equal(t, []int{500, 1, 0, 499, 201}, changed)
		require.Equal(t, []int{0, 0, 500, 1, 0}, removed)
		k.pass(5 * time.Second)
		require.Len(t, k.sent, 6)
	})
}

func TestAWholeEntryWhoseSecondPartIsLostIsWrittenAnew(t *testing.T) {
	bubble(t, func(k *kit) {
		for i := range 501 {
			k.hold(strconv.Itoa(i))
		}
		k.answer = func(m Message) Answer {
			if m.Whole {
				return Answer{Outcome: Written, Entries: 1}
			}
			return Answer{}
		}
		k.pass(time.Second)
		k.answer = func(Message) Answer { return Answer{Outcome: Written, Entries: 1} }
		k.pass(5 * time.Second)
		changed, _ := k.counts()
		require.Equal(t, []int{500, 1, 500, 1}, changed)
		require.True(t, k.sent[2].Whole)
	})
}

func TestAReporterWhoseProgramEndsIsAtRest(t *testing.T) {
	for name, end := range map[string]func(k *kit){
		"it retires": func(k *kit) {
			entry, listed := k.Retire()
			require.True(t, listed)
			require.Equal(t, "blue", entry.Label)
		},
		"it leaves": func(k *kit) {
			k.mu.Unlock() // it looks
			defer k.mu.Lock()
			require.Len(t, k.Leave(), 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(k *kit) {
				k.Configure(func(c *Config) { c.Label = "blue" })
				k.hold("a")
				k.pass(time.Second)
				end(k)
				k.hold("b")
				k.free("a")
				k.pass(time.Hour)
				require.Len(t, k.sent, 1)
				require.Empty(t, k.removed, "the entry is the caller's")
				_, listed := k.Retire()
				require.False(t, listed)
				require.Empty(t, k.Leave())
			})
		})
	}
}

func TestAReporterThatIsOffFromTheStartSendsNothing(t *testing.T) {
	bubble(t, func(k *kit) {
		k.Configure(func(c *Config) { c.Off = true })
		k.hold("a")
		k.pass(time.Hour)
		require.Empty(t, k.sent)
		require.Zero(t, k.looks)
	})
}

// In a bubble nothing is collected, so this takes some seconds of real time.
func TestAReporterIsKeptByItsTimerAlone(t *testing.T) {
	var free atomic.Bool
	removed := make(chan bool, 1)
	r := New(Functions{
		Look: func(s *Snapshot) {
			if !free.Load() {
				s.Hold(Place{"lock", "a"}, 1, 0, Owner{ID: "1", Since: -1 << 61})
			}
		},
		Send:   func(Message) Answer { free.Store(true); return Answer{Outcome: Written} },
		Remove: func(Config) bool { removed <- true; return true },
		Linger: func() time.Duration { return 0 },
		Awake:  new(atomic.Bool),
	})
	r.Wake()
	w := weak.Make(r)
	r = nil
	runtime.GC()
	<-removed
	require.Eventually(t, func() bool { runtime.GC(); return w.Value() == nil }, time.Minute, time.Millisecond)
}
