package session

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts/notice"
)

// requests are those that the owners were told of, by identity: when each was made. A request stands in Redis for as long as who
// has made it waits, so it is found by several reports; and so is one that cannot be read.
type requests struct {
	mu     sync.Mutex
	told   map[string]time.Time
	unread map[unread]string // why, at the last report
}

// An unread is where a request for an identity could not be read.
type unread struct{ key, identity string }

// failed notes why a request could not be read, nil if it was read, and tells whether there is something new to say about it.
func (r *requests) failed(at unread, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		delete(r.unread, at)
		return false
	}
	text, before := err.Error(), r.unread[at]
	if r.unread == nil {
		r.unread = map[unread]string{}
	}
	r.unread[at] = text
	return text != before
}

// isNew notes a request, and tells whether it is another one than before.
func (r *requests) isNew(identity string, made time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before, ok := r.told[identity]; ok && before.Equal(made) {
		return false
	}
	if r.told == nil {
		r.told = map[string]time.Time{}
	}
	r.told[identity] = made
	return true
}

// keep forgets all but those of these identities.
func (r *requests) keep(identities []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for identity := range r.told {
		if !slices.Contains(identities, identity) {
			delete(r.told, identity)
		}
	}
	for at := range r.unread {
		if !slices.Contains(identities, at.identity) {
			delete(r.unread, at)
		}
	}
}

// hearWithin is how long the client tries to read one request. The next report finds it again.
const hearWithin = time.Second

// askedFor tells the owners whose holds somebody asks for by these identities. That they are asked for is only a hint, which whoever has a
// right to the registry can leave. The request itself stands beside what is held, where only those can write who may free it.
func (s *Session) askedFor(identities []string) {
	s.requests.keep(identities)
	owners := s.reported()
	for _, identity := range identities {
		asked := map[string][]Reported{} // by key: the sides of a read-write lock share one
		for _, o := range owners {
			if key := o.HoldsAs(identity); key != "" {
				asked[key] = append(asked[key], o)
			}
		}
		for key, owners := range asked {
			s.hear(key, identity, owners)
		}
	}
}

// hear reads the request for what an identity holds at key, and tells the owners if it is new.
func (s *Session) hear(key, identity string, owners []Reported) {
	ctx, cancel := context.WithTimeout(raise.Background(context.Background(), Logger(s.logger)), hearWithin)
	defer cancel()
	request, _, err := delivery.Deliver(ctx, s.Dispatch, notice.Hear(key, identity), delivery.Limit{Outage: hearWithin})
	news := s.requests.failed(unread{key, identity}, err)
	switch {
	case news:
		Logger(s.logger).Warn("redlatch: somebody asks for a lock, and who and why cannot be read", "key", key, "owner", identity, "error", err)
	case err == nil && request != nil && s.requests.isNew(identity, request.At):
		for _, o := range owners {
			o.Asked(request.Who, request.Why)
		}
	}
}
