package countertest

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A Counter is the counter under test, as one process sees it.
type Counter struct {
	// Wait waits for one unit, which it keeps, or until a latch is open.
	Wait func(ctx context.Context, opts ...redlatch.Option) error

	// Raise gives back one unit, which nobody need have, or counts a latch down.
	Raise func(ctx context.Context) error

	// Look reads the counter. It fails where the name holds something else.
	Look func(ctx context.Context) (int64, error)
}

// Features say what a counter is.
type Features struct {
	// Make makes the counter under test. Each client stands for a process.
	Make func(tb testing.TB, client redlatch.Client, name string, opts ...redlatch.Option) Counter

	// Close has waiters wait. Each of up to n calls of Raise lets one of them through; where one is for all, the last of the n
	// does. Open is one of these without a message.
	Close func(ctx context.Context, client *redis.Client, name string, n int64) error
	Open  func(ctx context.Context, client *redis.Client, name string) error

	// Left is what Look answers when n of the raises of Close have been made.
	Left func(closed, n int64) int64

	Channel func(name string) string
	Shared  bool // one raise lets all waiters through
}

// poll is the poll interval on fake time, and long one that no test waits for.
const (
	poll = 3 * time.Second
	long = time.Hour
)

// A lab is what one case works with: a counter of a process, and one of another.
type lab struct {
	*testing.T
	Features
	client, direct *redis.Client
	name           string
	srv            *redistest.Server // nil on fake time
	gauge          gauge
}

func (l *lab) counter(client *redis.Client, opts ...redlatch.Option) Counter {
	return l.Make(l, client, l.name, append([]redlatch.Option{briefly.Linger(0), redlatch.WithPoll(poll), redlatch.WithObserver(&l.gauge)}, opts...)...)
}

func (l *lab) shut(n int64) { require.NoError(l, l.Close(l.Context(), l.direct, l.name, n)) }

func (l *lab) value() int64 {
	n, err := l.counter(l.direct).Look(l.Context())
	require.NoError(l, err)
	return n
}

// waits has a call wait, and returns when its process listens.
func (l *lab) waits(ctx context.Context, c Counter, opts ...redlatch.Option) <-chan error {
	done := make(chan error, 1)
	go func() { done <- c.Wait(ctx, opts...) }()
	if l.srv == nil {
		time.Sleep(100 * time.Millisecond)
		return done
	}
	redistest.Eventually(l, "it waits", func() bool {
		return l.direct.PubSubNumSub(context.Background(), l.Channel(l.name)).Val()[l.Channel(l.name)] == 1
	})
	return done
}

// Exercise runs the suite. The package needs redistest.Main as TestMain.
func Exercise(t *testing.T, features Features) {
	for _, c := range fakeTime {
		t.Run("fake time/"+c.name, func(t *testing.T) {
			redistest.Bubble(t, func(t *testing.T) {
				mini, client := redistest.InMemory(t)
				direct := redis.NewClient(redistest.InMemoryOptions(mini))
				t.Cleanup(func() { _ = direct.Close() })
				l := &lab{T: t, Features: features, client: client, direct: direct, name: "c"}
				c.run(l)
				l.gauge.check(l)
				time.Sleep(time.Second) // what an ended wait leaves in Redis is taken back behind it
			})
		})
	}
	for _, c := range servers {
		t.Run(c.name, func(t *testing.T) {
			redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
				l := &lab{T: t, Features: features, client: srv.Client(t), direct: srv.Client(t), name: srv.Key(t, "c"), srv: srv}
				c.run(l)
				l.gauge.check(l)
			})
		})
	}
}

type trial struct {
	name string
	run  func(l *lab)
}

var fakeTime = []trial{
	{"WithWait ends the wait exactly", waitEnds},
	{"the end of a context says why", contextEnds},
	{"with all messages lost a waiter is let through within the poll", messagesLost},
	{"a waiter that is cancelled at any point costs the others nothing", cancelledAnywhere},
	{"a call during which a hook panics is settled", hookPanics},
	{"a call takes effect once whatever replies are lost", lostReplies},
	{"the observer is told", observed},
	{"misuse is an error, and nothing is sent", misuse},
	{"nothing stays in Redis", nothingStays},
}

var servers = []trial{
	{"a raise reaches a waiter of another client by message, and nothing is subscribed after that", message},
	{"a raise ignores the cancellation of its context", cancelledRaise},
	{"a raise that is not answered is uncertain and carried through once", carriedThrough},
	{"a waiter returns at once when the server is silent", silence},
	{"a closed client is the error of all who wait", closedClient},
	{"a name that holds something else is an error, and left alone", somethingElse},
}
