package interop_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A plate is where the traces of one object show.
type plate struct {
	t        *testing.T
	w        *world
	o        object
	messages *redis.PubSub
	owners   []string
}

func newPlate(t *testing.T, w *world, o object) *plate {
	p := &plate{t: t, w: w, o: o, messages: w.client.PSubscribe(t.Context(), "*"+o.name+"*")}
	_, err := p.messages.Receive(t.Context()) // the server's confirmation
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.messages.Close() })
	return p
}

var ownerPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}:-?[0-9]+`)

// look describes what is there now, and what was sent since the last look.
func (p *plate) look(what string) string {
	ctx := p.t.Context()
	var all []string
	keys := p.w.keys(p.t, p.o)
	slices.SortFunc(keys, func(a, b string) int { return strings.Compare(strings.Trim(a, "{"), strings.Trim(b, "{")) })
	for _, key := range keys {
		text := key + " " + p.value(ctx, key)
		if ttl := p.w.client.PTTL(ctx, key).Val(); ttl > 0 {
			text += " " + seconds(ttl)
		}
		all = append(all, p.plain(text))
	}
	slices.Sort(all) // by the letters of the owners now
	text := strings.Join(all, ", ")
	if sent := p.sent(ctx, what); sent != "" {
		text = strings.TrimPrefix(text+" | "+p.plain(sent), " ")
	}
	return text
}

func (p *plate) value(ctx context.Context, key string) string {
	client := p.w.client
	var parts []string
	switch client.Type(ctx, key).Val() {
	case "hash":
		for field, value := range client.HGetAll(ctx, key).Val() {
			if strings.HasSuffix(field, ":expire_time") {
				value = p.until(ctx, value)
			}
			parts = append(parts, p.plain(field+":"+value))
		}
	case "zset":
		for _, z := range client.ZRangeWithScores(ctx, key, 0, -1).Val() {
			require.Len(p.t, z.Member, 16)
			if z.Score == 922337203685477 {
				parts = append(parts, "#:no lease")
			} else {
				parts = append(parts, "#:"+p.until(ctx, fmt.Sprintf("%.0f", z.Score)))
			}
		}
	default:
		return client.Get(ctx, key).Val()
	}
	slices.Sort(parts)
	return "{" + strings.Join(parts, " ") + "}"
}

// until is a moment as the time from now.
func (p *plate) until(ctx context.Context, moment string) string {
	var ms int64
	_, err := fmt.Sscan(moment, &ms)
	require.NoError(p.t, err)
	return seconds(time.UnixMilli(ms).Sub(p.w.client.Time(ctx).Val()))
}

// seconds is a time to the nearest 5 seconds: steps of a busy machine take their time.
func seconds(d time.Duration) string {
	return fmt.Sprintf("%.0fs", (d + time.Second).Round(5*time.Second).Seconds())
}

// plain is text with a short name and with letters for owners.
func (p *plate) plain(text string) string {
	text = strings.ReplaceAll(text, p.o.name, "it")
	return ownerPattern.ReplaceAllStringFunc(text, func(owner string) string {
		if !slices.Contains(p.owners, owner) {
			p.owners = append(p.owners, owner)
		}
		return string(rune('A' + slices.Index(p.owners, owner)))
	})
}

// sent are the messages since the last look. A message of our own, behind which nothing of before can come, ends them.
func (p *plate) sent(ctx context.Context, what string) string {
	end := "end of " + p.o.name
	require.NoError(p.t, p.w.client.Publish(ctx, end, what).Err())
	var sent []string
	for {
		message, err := p.messages.ReceiveMessage(ctx)
		require.NoError(p.t, err)
		if message.Channel == end {
			slices.Sort(sent) // members of a multi-lock are given back at once
			return strings.Join(sent, " ")
		}
		sent = append(sent, message.Channel+" "+message.Payload)
	}
}
