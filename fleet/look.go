package fleet

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
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

	beside []Kind // what the keys and channels beside it tell

	typ    *redis.StatusCmd
	lasts  *redis.DurationCmd
	length *redis.IntCmd
	page   *redis.ScanCmd
	text   *redis.StringCmd
}

// lookAt looks at keys step by step: what type each has, how large it is, and what is in it.
func lookAt(ctx context.Context, client sender, looks []*look) error {
	err := ask(ctx, client, looks, func(pipe redis.Pipeliner, l *look) { l.typ, l.lasts = pipe.Type(ctx, l.key), pipe.PTTL(ctx, l.key) })
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

// plausible tells whether some fields can be those of an object that has more.
func plausible(fields map[string]string) bool {
	more := maps.Clone(fields)
	more[modeField] = "read"
	shape, _ := shapeOf(more)
	return shape != foreign
}

// judge says what was seen. What has changed between the steps is nothing that can be told; the next look sees it.
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
	default:
		l.shape, l.found = foreign, "a "+l.typ.Val()+" of another program"
	}
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

var (
	isValue    = regexp.MustCompile(`^[A-Za-z0-9+/]{22}$`) // of a group, hashed
	isDecimal  = regexp.MustCompile(`^-?[0-9]{1,19}$`)
	modeField  = "mode"
	writeField = ":write"

	deadlineField = ":expire_time"
	holdsField    = ":lock_count"
)

// decimal reads a number as INCRBY writes it.
func decimal(text string) (n int64, ok bool) {
	if !isDecimal.MatchString(text) {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// shapeOf tells what a hash is, by all its fields. One that is no lock is another program's.
func shapeOf(fields map[string]string) (shape, string) {
	all := func(is func(field, value string) bool) bool {
		for field, value := range fields {
			if !is(field, value) {
				return false
			}
		}
		return len(fields) > 0
	}
	mode, moded := fields[modeField]
	switch {
	case moded && (mode == "read" || mode == "write") && all(func(field, value string) bool {
		return field == modeField || isOwner.MatchString(strings.TrimSuffix(field, writeField)) && isDecimal.MatchString(value)
	}):
		return sides, "a read-write lock"
	case all(func(field, value string) bool { return isOwner.MatchString(field) && isDecimal.MatchString(value) }):
		return owners, "a lock"
	case all(groupField):
		return values, "a group lock"
	}
	return foreign, "a hash of another program"
}

// groupField tells whether a field can be one of a group: a value with its owner, or that owner's deadline or holds.
func groupField(field, value string) bool {
	if isValue.MatchString(field) {
		return isOwner.MatchString(value)
	}
	name, owner, _ := strings.Cut(field, ":")
	bare, deadline := strings.CutSuffix(owner, deadlineField)
	bare, holds := strings.CutSuffix(bare, holdsField)
	return (deadline != holds) && isValue.MatchString(name) && isOwner.MatchString(bare) && isDecimal.MatchString(value)
}
