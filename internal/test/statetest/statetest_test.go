package statetest

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// What follows proves that the comparison finds differences; that scripts pass it is proved by their own tests.

func TestCompareFindsEveryDifference(t *testing.T) {
	from := time.UnixMilli(1_795_000_000_000)
	within := window{from, from.Add(time.Second)}
	want := State{
		"text":  {Value: "1", TTL: time.Minute},
		"hash":  {Value: Hash{"a": "1"}},
		"zset":  {Value: Deadlines{"a": time.Minute}},
		"score": {Value: Scores{"a": 7}},
	}
	right := func() State {
		return State{
			"text":  {Value: "1", TTL: time.Minute - 500*time.Millisecond},
			"hash":  {Value: Hash{"a": "1"}},
			"zset":  {Value: Scores{"a": float64(from.Add(time.Minute + 400*time.Millisecond).UnixMilli())}},
			"score": {Value: Scores{"a": 7}},
		}
	}
	require.Empty(t, compare(want, right(), within))

	for name, spoil := range map[string]func(State){
		"a key is missing":        func(s State) { delete(s, "hash") },
		"a key is too many":       func(s State) { s["other"] = Key{Value: "1"} },
		"a value differs":         func(s State) { s["hash"] = Key{Value: Hash{"a": "2"}} },
		"a field is too many":     func(s State) { s["hash"] = Key{Value: Hash{"a": "1", "b": "1"}} },
		"another type":            func(s State) { s["hash"] = Key{Value: "1"} },
		"a TTL is missing":        func(s State) { s["text"] = Key{Value: "1"} },
		"a TTL is too many":       func(s State) { s["hash"] = Key{Value: Hash{"a": "1"}, TTL: time.Minute} },
		"a TTL is too long":       func(s State) { s["text"] = Key{Value: "1", TTL: time.Minute + 3*time.Millisecond} },
		"a TTL is too short":      func(s State) { s["text"] = Key{Value: "1", TTL: 58 * time.Second} },
		"a deadline is too early": func(s State) { s["zset"] = Key{Value: Scores{"a": float64(from.UnixMilli())}} },
		"a deadline is too late": func(s State) {
			s["zset"] = Key{Value: Scores{"a": float64(within.to.Add(time.Minute + time.Second).UnixMilli())}}
		},
		"a deadline is another's": func(s State) {
			s["zset"] = Key{Value: Scores{"b": float64(from.Add(time.Minute).UnixMilli())}}
		},
		"a score differs": func(s State) { s["score"] = Key{Value: Scores{"a": 8}} },
	} {
		t.Run(name, func(t *testing.T) {
			got := right()
			spoil(got)
			require.NotEmpty(t, compare(want, got, within))
		})
	}
}

func TestRepliesAreComparedWithRoomForTheTimeThatPassed(t *testing.T) {
	within := window{time.Unix(0, 0), time.Unix(1, 0)}
	same := func(want, got any) bool { return sameReply(reflect.ValueOf(want), reflect.ValueOf(got), within) }

	want := scripts.Attempt{Remaining: time.Minute}
	require.True(t, same(want, scripts.Attempt{Remaining: time.Minute - time.Second}))
	require.False(t, same(want, scripts.Attempt{Remaining: time.Minute - 2*time.Second}))
	require.False(t, same(want, scripts.Attempt{Remaining: 2 * time.Minute}))
	require.False(t, same(want, scripts.Attempt{Remaining: time.Minute, Held: true}))
	require.False(t, same(scripts.Attempt{Remaining: -time.Millisecond}, scripts.Attempt{}), "-1 is a word, not a time")
	require.True(t, same([]bool{true, false}, []bool{true, false}))
	require.False(t, same([]bool{true, false}, []bool{true, true}))
	require.Equal(t, scripts.Attempt{Remaining: 30 * time.Second}, halfReply(want))
}

func TestWhatIsLoadedIsRead(t *testing.T) {
	state := State{
		"text": {Value: "1", TTL: time.Minute},
		"hash": {Value: Hash{"a": "1", "b": "2"}},
		"list": {Value: List{"b", "a"}},
		"zset": {Value: Scores{"a": 922337203685477, "b": 2.5}, TTL: time.Hour},
		"soon": {Value: Deadlines{"a": time.Minute}},
	}
	each(t, func(t *testing.T, b *bench) {
		b.begin(t, state)
		got, err := read(t.Context(), b.client)
		require.NoError(t, err)
		require.Empty(t, compare(state, got, window{b.began, b.now(t)}))
		require.Empty(t, b.heard(t))

		require.NoError(t, b.client.Publish(t.Context(), "a", "1").Err())
		require.NoError(t, b.client.Publish(t.Context(), "b", "2").Err())
		require.Equal(t, []Message{{Channel: "a", Payload: "1"}, {Channel: "b", Payload: "2"}}, b.heard(t))

		minute := []Message{{Channel: "a", Left: time.Minute}}
		for payload, right := range map[string]bool{"59990": true, "60000": true, "61000": false, "59000": false, "0": false, "x": false} {
			got := []Message{{Channel: "a", Payload: payload}}
			within := window{b.began, b.began.Add(20 * time.Millisecond)}
			require.Equal(t, right, slices.Equal(got, said(minute, got, within)), payload)
		}
		require.Equal(t, minute, said(minute, nil, window{}))
	})
}

func TestACallFindsAWrongReply(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.begin(t, State{"s": {Value: "5"}, "lock": {Value: Hash{"a": "1"}}})
		verdict := func(call Call, repeated bool) string {
			check, err := call.execute(t.Context(), b.client)
			require.NoError(t, err)
			return check(window{b.began, b.now(t)}, repeated, false)
		}
		five, refused := lane.Read("s"), lane.Read("lock")
		require.Empty(t, verdict(Answers(five, 5), false))
		require.Empty(t, verdict(Answers(five, 5), true))
		require.NotEmpty(t, verdict(Answers(five, 4), false))
		require.Empty(t, verdict(AnswersThen(five, 5, 4), false))
		require.NotEmpty(t, verdict(AnswersThen(five, 5, 4), true))
		require.Empty(t, verdict(Fails(refused, "WRONGTYPE"), false))
		require.NotEmpty(t, verdict(Fails(refused, "OOM"), false))
		require.NotEmpty(t, verdict(Fails(five, "WRONGTYPE"), false))

		_, err := Answers(refused, 5).execute(t.Context(), b.client)
		require.ErrorContains(t, err, "WRONGTYPE")
	})
}
