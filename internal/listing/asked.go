package listing

import (
	"maps"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/scripts/notice"
)

// An asking is the request for what an identity holds at key, or what has kept it from being read.
type asking struct {
	key, identity string
	unread        bool
}

// isNew notes what there is to say of a request: when it was made, or why it could not be read; nothing if it
// is empty. It tells whether that is something else than before. A request stands in Redis for as long as the
// call that has made it waits, so it is found by several reports; and so is one that cannot be read.
func (l *Listing) isNew(of asking, text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said == nil {
		l.said = map[asking]string{}
	}
	before := l.said[of]
	l.said[of] = text
	return text != before
}

// forgetBut forgets all requests but those for these identities.
func (l *Listing) forgetBut(identities []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.said, func(of asking, _ string) bool { return !slices.Contains(identities, of.identity) })
}

// hearWithin is how long the client tries to read one request. The next report finds it again.
const hearWithin = time.Second

// askedFor tells the owners of the holds that others ask for by these identities. That they are asked for is
// only a hint: every program with a right to the registry can leave one. The request itself stands beside what
// is held, where only a program with the right to free that can write.
func (l *Listing) askedFor(identities []string) {
	l.forgetBut(identities)
	owners := l.owners()
	for _, identity := range identities {
		asked := map[string][]Reported{} // by key: the sides of a read-write lock share one
		for _, o := range owners {
			if key := o.HoldsAs(identity); key != "" {
				asked[key] = append(asked[key], o)
			}
		}
		for key, owners := range asked {
			l.hear(key, identity, owners)
		}
	}
}

// hear reads the request for what an identity holds at key, and tells the owners if it is new.
func (l *Listing) hear(key, identity string, owners []Reported) {
	ctx, cancel := l.session.Background(hearWithin)
	defer cancel()
	limit := delivery.Limit{Outage: hearWithin}
	request, _, err := delivery.Deliver(ctx, l.session.Dispatch, notice.Hear(key, identity), limit)
	if err != nil {
		if l.isNew(asking{key, identity, true}, err.Error()) {
			l.log.Warn("redlatch: somebody asks for a lock, and who and why cannot be read", "key", key,
				"owner", identity, "error", err)
		}
		return
	}
	l.isNew(asking{key, identity, true}, "")
	if request != nil && l.isNew(asking{key, identity, false}, request.At.String()) {
		for _, o := range owners {
			o.Asked(request.Who, request.Why)
		}
	}
}
