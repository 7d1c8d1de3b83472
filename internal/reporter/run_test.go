package reporter

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

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

func TestTheOptionsCountFromTheNextReportOn(t *testing.T) {
	bubble(t, func(k *kit) {
		k.hold("a")
		k.pass(time.Second)
		k.Configure(func(c *Config) { c.Label = "blue" })
		k.pass(5 * time.Second)
		require.True(t, k.sent[1].Whole, "the label is in what is written once")
		require.Equal(t, "blue", k.sent[1].To.Label)
		k.Configure(func(c *Config) { c.Prefix = "tenant:" })
		k.pass(5 * time.Second)
		require.True(t, k.sent[2].Whole)
		require.Equal(t, "tenant:", k.sent[2].To.Prefix)
		require.Equal(t, []string{""}, k.prefix, "the entry at the former place is removed")
	})
}

func TestAReporterThatIsSwitchedOffRemovesItsEntryAndCanBeSwitchedOnAgain(t *testing.T) {
	bubble(t, func(k *kit) {
		k.hold("a")
		k.pass(time.Second)
		k.Configure(func(c *Config) { c.Off = true })
		k.pass(time.Hour)
		require.Equal(t, seconds(6), k.removed)
		require.Len(t, k.sent, 1)
		looks := k.looks
		k.hold("b")
		k.pass(time.Hour)
		require.Equal(t, looks, k.looks)
		k.Configure(func(c *Config) { c.Off = false })
		k.hold("c")
		k.pass(time.Second)
		require.Len(t, k.sent, 2)
		require.Len(t, k.sent[1].Things, 3)
	})
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
func TestAReporterIsKeptByItsTimerWhileThereIsAnEntryToBeRemovedAndElseByNobody(t *testing.T) {
	type held struct{ sent, removed, free chan bool }
	make := func(linger time.Duration, answer Answer) (*Reporter, held) {
		h := held{make(chan bool, 9), make(chan bool, 1), make(chan bool)}
		return New(Functions{
			Look: func(s *Snapshot) {
				select {
				case <-h.free:
				default:
					s.Hold(Place{"lock", "a"}, 1, 0, Owner{ID: "1", Since: -1 << 61})
				}
			},
			Send:   func(Message) Answer { h.sent <- true; return answer },
			Remove: func(Config) bool { h.removed <- true; return true },
			Linger: func() time.Duration { return linger },
			Awake:  new(atomic.Bool),
		}), h
	}
	armed, _ := make(0, Answer{})
	armed.Wake()
	require.True(t, garbage(&armed))

	refused, h := make(0, Answer{Outcome: Refused})
	refused.Wake()
	<-h.sent
	w := refused.anchor.weak
	refused = nil
	require.Eventually(t, func() bool { r := w.Value(); return r == nil || garbage(&r) }, time.Minute, time.Millisecond)

	listed, h := make(0, Answer{Outcome: Written})
	listed.Wake()
	<-h.sent
	w = listed.anchor.weak
	require.False(t, garbage(&listed))
	close(h.free)
	<-h.removed
	require.Eventually(t, func() bool { r := w.Value(); return r == nil || garbage(&r) }, time.Minute, time.Millisecond)
}
