package fleet

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
)

// candidates are keys that may be objects.
type candidates map[place]*candidate

// A candidate is one key that may be an object of one shape.
type candidate struct {
	*look
	expected shape
	named    bool // by an entry, so it is listed whatever is there
	guess    bool // its name can also be read in another way
	kinds    []redlatch.Kind
}

// add notes that a key may be an object of a kind. Entries may name a kind of a later version, which this
// version cannot look at.
func (found candidates) add(kind redlatch.Kind, key string, named, guess bool) {
	at := place{shapeFor(kind), key}
	c := found[at]
	if c == nil {
		c = &candidate{look: &look{key: key}, expected: at.shape, guess: guess}
		found[at] = c
	}
	c.named = c.named || named
	c.guess = c.guess && guess
	// of that the keys beside it are evidence, if they are of the right type
	if !named && kind != redlatch.KindPermitSemaphore {
		c.kinds = append(c.kinds, kind)
	}
}

func (found candidates) fromEntries(known *entries) {
	for key, uses := range known.uses {
		for _, u := range uses {
			if kind := whole(u.Kind); shapeFor(kind) != unknown {
				found.add(kind, key, true, false)
			}
		}
	}
}

// settle is the kind that the candidate turns out to be, Detect if it is none.
func (c *candidate) settle(known *entries) redlatch.Kind {
	switch {
	case c.named: // by the entries that name this shape, whatever is there
		expected := look{key: c.key, shape: c.expected}
		return known.kinds(&expected)[0]
	case c.err != nil:
		return Detect
	case c.shape == absent && c.guess:
		return Detect
	}
	form := c.shape
	if form == absent {
		form = c.expected
	}
	evidence := append(c.beside, c.kinds...)
	for _, kind := range ranked {
		if shapeFor(kind) == form && slices.Contains(evidence, kind) {
			return kind
		}
	}
	return (&look{shape: form}).kind(&entries{})
}

// mostChannels is how many channels a server may have for their names to be asked for: the answer is one
// piece.
const mostChannels = 100_000

// fromChannels adds the names whose channels have listeners.
func (found candidates) fromChannels(ctx context.Context, client redlatch.Client) error {
	_, cluster := client.(masters)
	return everywhere(ctx, client, func(ctx context.Context, node sender) error {
		pipe := node.Pipeline()
		info := pipe.Info(ctx, "stats")
		if err := exec(ctx, pipe); err != nil {
			return err
		}
		if many(info.Val(), "pubsub_channels:") || many(info.Val(), "pubsubshard_channels:") {
			return nil
		}
		pipe = node.Pipeline()
		names := []*redis.StringSliceCmd{pipe.PubSubChannels(ctx, "redisson_*")}
		if cluster {
			names = append(names, pipe.PubSubShardChannels(ctx, "redisson_*")) // unknown before 7.0
		}
		if err := exec(ctx, pipe); err != nil {
			return err
		}
		for _, cmd := range names {
			for _, name := range cmd.Val() {
				found.fromChannel(name)
			}
		}
		return nil
	})
}

// many tells whether a number of INFO is too large.
func many(info, field string) bool {
	_, rest, _ := strings.Cut(info, field)
	line, _, _ := strings.Cut(rest, "\r\n")
	n, _ := decimal(line)
	return n > mostChannels
}

// fromChannel adds the names that have this channel.
func (found candidates) fromChannel(channel string) {
	if name, ok := strings.CutPrefix(channel, "redisson_countdownlatch__channel__{"); ok {
		found.add(redlatch.KindLatch, strings.TrimSuffix(name, "}"), false, false)
		return
	}
	for prefix, kind := range map[string]redlatch.Kind{"redisson_lock__channel:": redlatch.KindLock,
		"redisson_rwlock:": redlatch.KindReadWriteLock, "redisson_sc:": redlatch.KindSemaphore} {
		if tag, ok := strings.CutPrefix(channel, prefix); ok {
			if kind == redlatch.KindLock { // a waiter of a fair lock listens to a channel of its own
				if owner := tag[max(0, strings.LastIndexByte(tag, '}')+1):]; isOwner.MatchString(strings.TrimPrefix(owner, ":")) {
					tag, kind = strings.TrimSuffix(tag, owner), redlatch.KindFairLock
				}
			}
			found.addTag(kind, tag)
		}
	}
}

// addTag adds the names whose keys have this tag: n and {n} have the same.
func (found candidates) addTag(kind redlatch.Kind, tag string) {
	if tag == "" {
		return
	}
	if name := strings.TrimSuffix(strings.TrimPrefix(tag, "{"), "}"); name != "" && keys.Tag(name) == tag {
		found.add(kind, name, false, false)
	}
	found.add(kind, tag, false, true)
}
