package session

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts/notice"
)

// requests is what was said last of those who ask for what an identity holds: when their request was made, or
// why it could not be read. A request stands in Redis for as long as who has made it waits, so it is found by
// several reports; and so is one that cannot be read.
type requests struct {
	mu   lockorder.Mutex[lockorder.Requests]
	said map[asking]string
}

// An asking is the request for an identity, or what has kept it from being read.
type asking struct {
	key, identity string
	unread        bool
}

// isNew notes what there is to say, nothing if it is empty, and tells whether it is something else than
// before.
func (r *requests) isNew(of asking, text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.said == nil {
		r.said = map[asking]string{}
	}
	before := r.said[of]
	r.said[of] = text
	return text != before
}

// keep forgets all but those for these identities.
func (r *requests) keep(identities []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.said, func(of asking, _ string) bool { return !slices.Contains(identities, of.identity) })
}

// hearWithin is how long the client tries to read one request. The next report finds it again.
const hearWithin = time.Second

// askedFor tells the owners whose holds somebody asks for by these identities. That they are asked for is
// only a hint, which whoever has a right to the registry can leave. The request itself stands beside what is
// held, where only those can write who may free it.
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
	if err != nil {
		if s.requests.isNew(asking{key, identity, true}, err.Error()) {
			Logger(s.logger).Warn("redlatch: somebody asks for a lock, and who and why cannot be read", "key", key,
				"owner",
				identity, "error", err)
		}
		return
	}
	s.requests.isNew(asking{key, identity, true}, "")
	if request != nil && s.requests.isNew(asking{key, identity, false}, request.At.String()) {
		for _, o := range owners {
			o.Asked(request.Who, request.Why)
		}
	}
}
