package why

import (
	"context"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts/notice"
	"github.com/redlatch/redlatch/internal/session"
)

// notices are the questions for notices that were left where something was taken by force. Those that come
// while one script is under way for their slot share the next one: a failover may have a thousand calls find
// out at once that they have lost.
type notices struct {
	mu      lockorder.Mutex[lockorder.Notices]
	waiting map[int][]question // by slot; there is an entry while a script is under way
}

// A question is for one notice.
type question struct {
	ctx    context.Context // of the call that asks
	of     notice.Of
	answer chan<- *notice.Notice // has room
}

// noticeFor is the notice for one of the owners of what is gone, as text.
func (q *questions) noticeFor(ctx context.Context, g Gone) string {
	owners := g.Owners[:min(len(g.Owners), notice.MostRead)]
	answer := make(chan *notice.Notice, len(owners))
	all := make([]question, len(owners))
	for i, owner := range owners {
		all[i] = question{ctx, notice.Of{Key: g.Key, Owner: owner}, answer}
	}
	slot, n := q.Shard(g.Key), &q.notices
	n.mu.Lock()
	waiting, busy := n.waiting[slot]
	if busy {
		n.waiting[slot] = append(waiting, all...)
	} else {
		if n.waiting == nil {
			n.waiting = map[int][]question{}
		}
		n.waiting[slot] = nil
	}
	n.mu.Unlock()
	if !busy {
		go q.readNotices(slot, all)
	}
	for range owners {
		select {
		case n := <-answer:
			if n != nil {
				return n.String()
			}
		case <-ctx.Done():
			return ""
		}
	}
	return ""
}

// readNotices answers the questions for one slot, and those that come meanwhile.
func (q *questions) readNotices(slot int, next []question) {
	for len(next) > 0 {
		now := next[:min(len(next), notice.MostRead)]
		next = next[len(now):]
		raise.Run(func() { q.readSome(now) }).Log(session.Logger(q.Log)) // a hook of the client may end the goroutine
		q.notices.mu.Lock()
		next = append(next[:len(next):len(next)], q.notices.waiting[slot]...)
		q.notices.waiting[slot] = nil
		if len(next) == 0 {
			delete(q.notices.waiting, slot)
		}
		q.notices.mu.Unlock()
	}
}

// readSome sends one script, for the questions whose call still waits.
func (q *questions) readSome(all []question) {
	var of []notice.Of
	var asked []question
	for _, one := range all {
		if one.ctx.Err() == nil {
			of, asked = append(of, one.of), append(asked, one)
		}
	}
	if len(of) == 0 {
		return
	}
	last := asked[len(asked)-1].ctx // which ends latest
	read, _, err := delivery.Deliver(last, q.Dispatch, notice.Read(of), delivery.Limit{Once: true})
	for i, one := range asked {
		if err != nil {
			one.answer <- nil
		} else {
			one.answer <- read[i]
		}
	}
}
