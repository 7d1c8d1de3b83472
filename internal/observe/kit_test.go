package observe_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/listing"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
)

const limit = 10 * time.Second

// A stage is one name, what is told of it, and how it answers when it is asked who holds it.
type stage struct {
	*testing.T
	name   string
	client string // no other stage has it
	look   func(ctx context.Context) (redlatch.Info, error)

	mu   sync.Mutex
	told []string // the kind of each event and when it came
	last redlatch.Event
	asks int
	log  bytes.Buffer
}

var stages atomic.Int64

func inBubble(t *testing.T, test func(t *testing.T, s *stage)) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{T: t, name: "orders", client: fmt.Sprint(stages.Add(1))}
		s.look = func(context.Context) (redlatch.Info, error) {
			return redlatch.Info{Kind: "lock", Holders: []redlatch.Holder{{Owner: "u:7", Token: 4}}}, nil
		}
		test(t, s)
	})
}

func (s *stage) Look(ctx context.Context) (redlatch.Info, error) {
	s.mu.Lock()
	s.asks++
	s.mu.Unlock()
	return s.look(ctx)
}

// Sessions is one of each stage's own, so that what another test was told of does not count. It is in no registry.
func (s *stage) Sessions() []*session.Session {
	of := &session.Session{ID: s.client}
	of.Listing = listing.New(of)
	of.Listing.Heed(session.Registry{Off: true})
	return []*session.Session{of}
}

// Itself is not asked for: there is a session.
func (s *stage) Itself() any { return s }

var began = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // of every bubble

// Observer keeps what is told of what lasts for long.
func (s *stage) observer() redlatch.Option {
	return redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
		if e.Kind == redlatch.EventSlowWait || e.Kind == redlatch.EventLongHold {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.told, s.last = append(s.told, fmt.Sprint(e.Kind, " ", time.Since(began))), e
		}
	}))
}

func (s *stage) logger() redlatch.Option {
	return redlatch.WithLogger(slog.New(slog.NewTextHandler(s, nil)))
}

// Write is that of the log.
func (s *stage) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(line)
}

// lines are those of the log by now.
func (s *stage) lines() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

func (s *stage) waits(opts ...redlatch.Option) *observe.Call {
	set := rootapi.Apply(settings.Defaults(), opts)
	return observe.Begin(s.Context(), &set, s, "lock", s.name, 0)
}

func (s *stage) holds(opts ...redlatch.Option) *observe.Hold {
	call := s.waits(opts...)
	call.Acquired(redlatch.Event{Owner: "u:8", Token: 5, Path: redlatch.PathFresh})
	return call.Hold()
}

// expect requires what was told by now.
func (s *stage) expect(told ...string) {
	s.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Equal(s, told, s.told)
}
