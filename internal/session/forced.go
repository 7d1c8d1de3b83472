package session

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/scripts/notice"
)

// noticeWithin is how long a loss waits for the word of who has caused it. The contexts of what was lost have ended by then.
const noticeWithin = 500 * time.Millisecond

// Forced says who has taken what is at key away from owner by force, and why. It is empty where nobody has said so.
func (s *Session) Forced(ctx context.Context, key, owner string) string {
	ctx, cancel := context.WithTimeout(ctx, noticeWithin)
	defer cancel()
	n, _, err := delivery.Deliver(ctx, s.Dispatch, notice.Read(key, owner), delivery.Limit{Once: true})
	if err != nil || n == nil {
		return ""
	}
	return n.String()
}
