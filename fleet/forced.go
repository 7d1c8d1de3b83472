package fleet

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts/notice"
)

// A Forced says that something was taken away from its owner by force: see [Holder.Free]. Redis keeps it for
// an hour. Any program with the right to write there may have written its texts.
type Forced struct {
	Notice
	Owner string    // from whom
	At    time.Time // when, by the clock of the server
}

// mostForced is how many notices of one name are read; so many are kept.
const mostForced = 100

// readForced is the last time that the object was taken away, nil where there is none, or the user may not
// know.
func readForced(ctx context.Context, client redlatch.Client, key string) (last *Forced, err error) {
	var page *redis.ScanCmd
	err = ask(ctx, client, []string{keys.Forced(key)}, func(pipe redis.Pipeliner, forced string) {
		page = pipe.HScan(ctx, forced, 0, "", mostForced)
	})
	if err != nil {
		return nil, err
	}
	fields, _, err := page.Result()
	if err != nil { // the user may not read it, or it is none of ours
		return nil, nil
	}
	for owner, text := range merge(nil, fields) {
		if strings.HasPrefix(owner, "ask:") || strings.HasPrefix(owner, "heard:") {
			continue
		}
		n, err := notice.Parse(text)
		if err == nil && (last == nil || n.At.After(last.At)) {
			last = &Forced{Notice{Who: n.Who, Why: n.Why}, owner, n.At}
		}
	}
	return last, nil
}
