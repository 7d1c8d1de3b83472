package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
)

// mostFields is how many fields a hash may have that can be an object. A larger one is not read.
const mostFields = 4096

// mostDigits is how long a number may be that can be a counter, with its sign.
const mostDigits = 20

// A look is what can be seen of a key without knowing what it is for. It is bounded, whatever is there.
type look struct {
	key string

	shape  shape
	found  string // what it is, in words
	ttl    time.Duration
	fields map[string]string // of a hash
	cursor uint64            // from where there are more; 0 when all were read
	number int64             // of a number
	err    error             // the server refused to show it

	beside []redlatch.Kind // what the keys and channels beside it tell

	typ    *redis.StatusCmd
	lasts  *redis.DurationCmd
	length *redis.IntCmd
	page   *redis.ScanCmd
	text   *redis.StringCmd
}

// lookAt looks at keys step by step: what type each has, how large it is, and what is in it.
func lookAt(ctx context.Context, client sender, looks []*look) error {
	err := ask(ctx, client, looks, func(pipe redis.Pipeliner, l *look) {
		l.typ, l.lasts = pipe.Type(ctx, l.key),
			pipe.PTTL(ctx, l.key)
	})
	if err != nil {
		return err
	}
	err = ask(ctx, client, looks, func(pipe redis.Pipeliner, l *look) {
		switch l.typ.Val() {
		case "hash":
			l.length = pipe.HLen(ctx, l.key)
		case "string":
			l.length, l.text = pipe.StrLen(ctx, l.key), pipe.GetRange(ctx, l.key, 0, mostDigits)
		}
	})
	if err != nil {
		return err
	}
	var hashes []*look
	for _, l := range looks {
		if l.typ.Val() == "hash" && l.length.Err() == nil && l.length.Val() <= mostFields {
			hashes = append(hashes, l)
		}
	}
	if err := lookInto(ctx, client, hashes); err != nil {
		return err
	}
	for _, l := range looks {
		l.judge()
	}
	return nil
}

// lookInto reads the fields of hashes, of one that is another program's no more than it takes to see that.
func lookInto(ctx context.Context, client sender, open []*look) error {
	for step := int64(16); len(open) > 0; step = 512 { // a hash in one piece comes with the first step
		err := ask(ctx, client, open, func(pipe redis.Pipeliner, l *look) {
			l.page = pipe.HScan(ctx, l.key, l.cursor, "", step)
		})
		if err != nil {
			return err
		}
		open = slices.DeleteFunc(open, func(l *look) bool {
			page, cursor, err := l.page.Result()
			l.fields = merge(l.fields, page)
			l.cursor = cursor
			l.shape, l.found = shapeOf(l.fields)
			return err != nil || cursor == 0 || len(l.fields) > mostFields || l.shape == foreign && !plausible(l.fields)
		})
	}
	return nil
}

// judge says what was seen. What has changed between the steps is nothing that can be told; the next look
// sees it.
func (l *look) judge() {
	l.ttl = ttlOf(l.lasts)
	switch l.typ.Val() {
	case "":
		l.err, l.found = l.typ.Err(), "a key that the user may not look at"
	case "none":
		l.shape, l.found = absent, "nothing"
	case "hash":
		if l.page == nil {
			l.shape, l.found, l.err = foreign, "a hash of another program", l.length.Err()
			return
		}
		l.judgeHash()
	case "string":
		l.err = l.text.Err()
		if n, ok := decimal(l.text.Val()); ok && l.length.Val() <= mostDigits {
			l.shape, l.found, l.number = number, "a number", n
			return
		}
		l.shape, l.found = foreign, "a string of another program"
		if l.ttl > 0 && l.length.Val() <= mostMark {
			l.found = l.mark()
		}
	default:
		l.shape, l.found = foreign, "a "+l.typ.Val()+" of another program"
	}
}

// mostMark is how long a value is at most that marks a lock: a random number, or a host with a pid.
const mostMark = 200

// mark says what a short string with a TTL looks like: a lock that another library has taken by SET with NX.
func (l *look) mark() string {
	value := l.text.Val()
	if l.length.Val() > int64(len(value)) {
		value += "…"
	}
	return fmt.Sprintf("a string of another program, which looks like a lock by SET NX: it ends in %v and has the "+
		"value %q",
		max(l.ttl.Round(time.Second), time.Second), value)
}

// judgeHash says what the fields are. There are none of one that has gone meanwhile.
func (l *look) judgeHash() {
	if l.err = l.page.Err(); l.err != nil || len(l.fields) > 0 && l.cursor == 0 {
		return
	}
	l.shape, l.found = absent, "nothing"
	if l.cursor != 0 {
		l.shape, l.found = foreign, "a hash of another program"
	}
}

func merge(fields map[string]string, page []string) map[string]string {
	if fields == nil {
		fields = make(map[string]string, len(page)/2)
	}
	for i := 0; i+1 < len(page); i += 2 {
		fields[page[i]] = page[i+1]
	}
	return fields
}

// ttlOf is how long a key lasts as Info has it: 0 where there is none, negative without a TTL.
func ttlOf(cmd *redis.DurationCmd) time.Duration {
	switch ttl := cmd.Val(); {
	case cmd.Err() != nil || ttl == -2:
		return 0
	default:
		return ttl
	}
}
