package reporter

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/jitter"
	"github.com/redlatch/redlatch/internal/watchdog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A kit is a reporter, what its client holds, and what was sent when.
type kit struct {
	*testing.T
	*Reporter
	start   time.Time
	mu      sync.Mutex // the test has it, but while time passes
	held    map[Place]time.Time
	waits   map[Place]time.Time
	busy    bool
	looked  func() // after each look; nil: nothing
	linger  time.Duration
	looks   int
	sent    []Message
	at      []time.Duration
	removed []time.Duration
	prefix  []string // of what was removed
	stuck   bool     // what is removed is not

	asked []string
	hang  chan struct{} // until then whoever is asked blocks; nil: it does not

	answer func(Message) Answer
}

// bubble runs a test on fake time, without jitter.
func bubble(t *testing.T, test func(k *kit)) {
	defer jitter.Replace(func(n int64) int64 { return n / 2 })()
	synctest.Test(t, func(t *testing.T) {
		k := &kit{T: t, start: time.Now(), held: map[Place]time.Time{}, waits: map[Place]time.Time{}, linger: 3 * time.Second}
		k.answer = func(Message) Answer { return Answer{Outcome: Written, Entries: 1} }
		k.Reporter = New(Functions{
			Look: func(s *Snapshot) {
				k.mu.Lock()
				defer k.mu.Unlock()
				k.looks++
				for at, since := range k.held {
					s.Hold(at, 1, 30*time.Second, Owner{ID: "1", Since: watchdog.MomentOf(since)})
				}
				for at, since := range k.waits {
					s.Wait(at, 1, watchdog.MomentOf(since), 0, 0)
				}
				if k.busy {
					s.Busy()
				}
				if k.looked != nil {
					k.looked()
				}
			},
			Send: func(m Message) Answer {
				k.mu.Lock()
				defer k.mu.Unlock()
				k.sent, k.at = append(k.sent, m), append(k.at, time.Since(k.start))
				return k.answer(m)
			},
			Remove: func(c Config) bool {
				k.mu.Lock()
				defer k.mu.Unlock()
				k.removed, k.prefix = append(k.removed, time.Since(k.start)), append(k.prefix, c.Prefix)
				return !k.stuck
			},
			Linger: func() time.Duration { return k.linger },
			Awake:  new(atomic.Bool),
			Asked: func(identities []string) {
				k.mu.Lock()
				k.asked = append(k.asked, strings.Join(identities, " "))
				k.mu.Unlock()
				if k.hang != nil {
					<-k.hang
				}
			},
		})
		k.mu.Lock()
		test(k)
	})
}

func (k *kit) hold(name string) {
	k.held[Place{"lock", name}] = clock.Now()
	k.Wake()
}

func (k *kit) free(name string) { delete(k.held, Place{"lock", name}) }

// pass lets time pass, in which nothing happens but by timers.
func (k *kit) pass(d time.Duration) {
	k.mu.Unlock()
	defer k.mu.Lock()
	time.Sleep(d)
	synctest.Wait()
}

// counts are the fields of each message that was sent: changed, and removed.
func (k *kit) counts() (changed, removed []int) {
	for _, m := range k.sent {
		changed, removed = append(changed, len(m.Things)), append(removed, len(m.Removed))
	}
	return changed, removed
}
