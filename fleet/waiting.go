package fleet

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
)

// mostShown is how many of a queue in Redis are read.
const mostShown = 200

// A queue is what Redis knows about the processes that wait for one object.
type queue struct {
	kind redlatch.Kind
	key  string

	stood     []stand
	outsiders int64

	row, alive *redis.ZSliceCmd
}

// A stand is one process in a queue of processes.
type stand struct {
	client string
	since  time.Time
	side   string
	till   time.Time // until when it is known to be there; zero where that is not kept
}

// wakes is the channel on which the waiters of an object listen, and the queue of processes, beside which
// there is a channel on which just those listen that know the queue. An empty one is none.
func wakes(kind redlatch.Kind, key string) (channel, row string) {
	switch kind {
	case redlatch.KindLock, redlatch.KindFencedLock:
		return keys.LockChannel(key), keys.LockRow(key)
	case redlatch.KindGroupLock: // it has a queue for each set of values, and these are not known here
		return keys.LockChannel(key), ""
	case redlatch.KindReadWriteLock:
		return keys.ReadWriteChannel(key), keys.ReadWriteRow(key)
	case redlatch.KindSemaphore, redlatch.KindPermitSemaphore:
		return keys.SemaphoreChannel(key), keys.SemaphoreRow(key)
	case redlatch.KindLatch:
		return keys.LatchChannel(key), ""
	}
	return "", ""
}

const known = ":known"

// readQueues reads which processes wait. A process in a queue listens to the channel as well, so a queue is
// not read where no connection listens to its channel.
func readQueues(ctx context.Context, client redlatch.Client, queues []*queue) error {
	var names []string
	for _, q := range queues {
		if channel, row := wakes(q.kind, q.key); channel != "" {
			names = append(names, channel)
			if row != "" {
				names = append(names, row+known)
			}
		}
	}
	counts, err := listeners(ctx, client, names)
	if err != nil {
		return err
	}
	var rows []*queue
	for _, q := range queues {
		channel, row := wakes(q.kind, q.key)
		listen := counts[channel]
		switch {
		case channel == "" && q.kind != redlatch.KindFairLock, listen < 0:
			q.outsiders = -1
		default:
			q.outsiders = max(0, listen-counts[row+known])
		}
		if row != "" && listen != 0 {
			rows = append(rows, q)
		}
	}
	err = ask(ctx, client, rows, func(pipe redis.Pipeliner, q *queue) {
		_, row := wakes(q.kind, q.key)
		q.row = pipe.ZRangeWithScores(ctx, row, 0, mostShown-1)
		if row == keys.LockRow(q.key) {
			q.alive = pipe.ZRangeWithScores(ctx, keys.LockRowKeys(q.key)[1], 0, mostShown-1)
		}
	})
	if err != nil {
		return err
	}
	for _, q := range rows {
		q.decode()
	}
	return nil
}

// span is by what the places of all but locks are multiplied, to make room for what is wanted.
const span = 1024

// decode reads the members as the scripts do.
func (q *queue) decode() {
	till := map[string]time.Time{}
	if q.alive != nil {
		for _, z := range q.alive.Val() {
			till[text(z.Member)] = moment(int64(math.Abs(z.Score)))
		}
	}
	for _, z := range q.row.Val() {
		id := clientOf(text(z.Member))
		if id == "" {
			continue
		}
		s := stand{client: id, till: till[text(z.Member)]}
		switch score := math.Abs(z.Score); { // negative: it was told
		case q.alive != nil:
			s.since = moment(int64(score / 1000))
		default:
			s.since = moment(int64(score / span))
			if q.kind == redlatch.KindReadWriteLock {
				s.side = "write"
				if math.Mod(score, span) == 1 {
					s.side = "read"
				}
			}
		}
		q.stood = append(q.stood, s)
	}
	slices.SortStableFunc(q.stood, func(a, b stand) int { return a.since.Compare(b.since) })
}

func text(member any) string {
	s, _ := member.(string)
	return s
}

// who lists the processes that wait, as the queue and the entries of the clients know them. Those of a fair
// lock stand in the order of its queue.
func (q *queue) who(info redlatch.Info, known *entries, now time.Time) Waiting {
	var waiters []*Waiter
	byClient := map[string]*Waiter{}
	waiter := func(id string) *Waiter {
		w := byClient[id]
		if w == nil {
			w = &Waiter{ClientID: id, Client: known.of(id)}
			byClient[id] = w
			waiters = append(waiters, w)
		}
		return w
	}
	for i, s := range q.stood {
		if w := waiter(s.client); w.Place == 0 {
			w.Place, w.Since, w.Side = i+1, s.since, s.side
			w.Gone = !s.till.IsZero() && s.till.Before(now)
		}
	}
	for i, one := range info.Queue {
		id := clientOf(one.Owner)
		w := waiter(id)
		if w.Calls++; w.Place == 0 {
			w.Place = i + 1
		}
	}
	stood := len(waiters)
	calls := map[string]int64{}
	apart := map[string]bool{} // clients that wait for a redlock, and of which no call stands in the queue yet
	for _, u := range known.uses[q.key] {
		if u.Waiters == 0 || shapeFor(whole(u.Kind)) != shapeFor(q.kind) {
			continue
		}
		w := waiter(u.client.ID)
		apart[w.ClientID] = apart[w.ClientID] || u.Kind == redlatch.KindRedlock && w.Place == 0
		calls[w.ClientID] += u.Waiters
		w.Calls = max(w.Calls, calls[w.ClientID])
		if w.Since.IsZero() || !u.WaitingSince.IsZero() && u.WaitingSince.Before(w.Since) {
			w.Since = u.WaitingSince
		}
		if w.Side == "" {
			w.Side = sideOf(u.Kind)
		}
	}
	slices.SortStableFunc(waiters[stood:], func(a, b *Waiter) int {
		return cmp.Compare(a.Since.UnixMilli(), b.Since.UnixMilli())
	})
	all := Waiting{Outsiders: q.outsiders, Processes: []Waiter{}}
	_, row := wakes(q.kind, q.key)
	for _, w := range waiters {
		all.Processes = append(all.Processes, *w)
		if (row == "" || apart[w.ClientID]) && all.Outsiders > 0 && w.Client != nil && !w.Client.Silent() {
			all.Outsiders-- // without a queue only its entry tells that this process is one of the listeners
		}
	}
	return all
}
