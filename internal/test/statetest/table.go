package statetest

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A Row is one call on one state.
type Row struct {
	Name     string // a sentence
	Before   State
	Call     Call
	After    State     // nil: as before
	Messages []Message // published by the first execution, in this order; the second publishes nothing
}

// A Message is one that was published.
type Message struct {
	Channel, Payload string

	// Left is for a payload that is what is left of a time which the Before of the row has, in milliseconds.
	Left time.Duration
}

// said are the messages of a row as they were published, with what is left in place of what was said of it where that can
// be.
func said(want, got []Message, within window) []Message {
	want = slices.Clone(want)
	for i, message := range want {
		if message.Left == 0 || i >= len(got) {
			continue
		}
		left, err := strconv.ParseInt(got[i].Payload, 10, 64)
		if err == nil && within.holds(message.Left, time.Duration(left)*time.Millisecond) {
			want[i] = Message{Channel: message.Channel, Payload: got[i].Payload}
		}
	}
	return want
}

// Table runs each row by itself.
func Table(t *testing.T, rows []Row) {
	each(t, func(t *testing.T, b *bench) {
		for _, row := range rows {
			t.Run(row.Name, func(t *testing.T) {
				b.begin(t, row.Before)
				b.run(t, row, true)
			})
		}
	})
}

// Sequence runs the rows one after another: each begins with what the one before it left, the first with its Before.
func Sequence(t *testing.T, rows []Row) {
	each(t, func(t *testing.T, b *bench) {
		b.begin(t, rows[0].Before)
		state := rows[0].Before
		for _, row := range rows {
			row.Before = state
			if !t.Run(row.Name, func(t *testing.T) { b.run(t, row, false) }) {
				return // what follows would only repeat the failure
			}
			if row.After != nil {
				state = row.After
			}
		}
	})
}

func each(t *testing.T, fn func(t *testing.T, b *bench)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) { fn(t, newBench(t, redistest.Mini(t))) })
	t.Run("redis", func(t *testing.T) { fn(t, newBench(t, redistest.Watched(t))) })
}

// A bench is a server, and an ear for everything that is published on it.
type bench struct {
	client *redis.Client
	mini   *miniredis.Miniredis // nil on Redis
	ear    *redis.PubSub
	began  time.Time // by the server's clock
}

// ending is the channel of the message that says that nothing more is to come.
const ending = "statetest:ending"

// patience bounds the wait for something that must come.
const patience = 30 * time.Second

func newBench(t *testing.T, server *redistest.Server) *bench {
	b := &bench{client: server.Client(t), mini: server.Mini}
	ctx := context.Background()
	b.ear = b.client.PSubscribe(ctx, "*")
	t.Cleanup(func() { require.NoError(t, b.ear.Close()) })
	_, err := b.ear.ReceiveTimeout(ctx, patience)
	require.NoError(t, err, "no confirmation of the subscription")
	return b
}

func (b *bench) begin(t *testing.T, before State) {
	ctx := context.Background()
	if b.mini != nil {
		// Its clock stands still from here on: on a busy machine more time would pass while a script reads it and a TTL than
		// scripts allow for. To Redis that is two system calls, or one moment.
		b.mini.SetTime(time.Now())
	}
	require.NoError(t, b.client.FlushAll(ctx).Err())
	b.began = b.now(t)
	require.NoError(t, before.load(ctx, b.client, b.began))
}

// run executes the call of the row twice and compares everything after each execution.
func (b *bench) run(t *testing.T, row Row, halve bool) {
	after := row.After
	if after == nil {
		after = row.Before
	}
	b.execute(t, row.Call, after, false, false)
	got := b.heard(t)
	require.Equal(t, said(row.Messages, got, window{b.began, b.now(t)}), got, "messages")

	halve = halve && !row.Call.lengthens
	if halve {
		require.NoError(t, after.age(context.Background(), b.client))
		after = after.halved()
	}
	b.execute(t, row.Call, after, true, halve)
	require.Empty(t, b.heard(t), "messages of the second execution")
}

func (b *bench) execute(t *testing.T, call Call, after State, repeated, halved bool) {
	ctx := context.Background()
	which := "first execution"
	if repeated {
		which = "second execution"
	}
	check, err := call.execute(ctx, b.client)
	require.NoError(t, err, which)
	got, err := read(ctx, b.client)
	require.NoError(t, err, which)
	within := window{b.began, b.now(t)}
	require.Empty(t, check(within, repeated, halved), which)
	require.Empty(t, compare(after, got, within), which)
}

// heard returns what was published since it was last asked. One subscriber gets messages in the order in which they
// were published, so everything has come when the message has that we send now.
func (b *bench) heard(t *testing.T) []Message {
	ctx := context.Background()
	require.NoError(t, b.client.Publish(ctx, ending, "").Err())
	var messages []Message
	for {
		event, err := b.ear.ReceiveTimeout(ctx, patience)
		require.NoError(t, err, "waiting for messages")
		message, ok := event.(*redis.Message)
		require.True(t, ok, "unexpected event %v", event)
		if message.Channel == ending {
			return messages
		}
		messages = append(messages, Message{Channel: message.Channel, Payload: message.Payload})
	}
}

// now is the server's clock in whole milliseconds, as the server reckons TTLs.
func (b *bench) now(t *testing.T) time.Time {
	now, err := b.client.Time(context.Background()).Result()
	require.NoError(t, err)
	return now.Truncate(time.Millisecond)
}
