package row_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

const (
	other        = "otherLock"
	otherChannel = "redisson_lock__channel:{otherLock}"
)

// given are two locks, the second of which changes.
func given(channel string, turn row.Turn) scripts.Command[[]row.Release] {
	turn.Row, turn.Lease = rows, brief
	return row.PassAll([]row.Given{
		{Key: other, Owner: a, Channel: otherChannel, Turn: row.Turn{Row: keys.LockRowKeys(other), Lease: brief}},
		{Key: key, Owner: b, Channel: channel, Turn: turn},
	}, "PUBLISH")
}

func TestPassAllWithNobodyToPassTo(t *testing.T) {
	held := func(fields Hash) Key { return Key{Value: fields, TTL: lease} }
	all := given(channel, row.Turn{})
	first, second := Message{Channel: otherChannel, Payload: "0"}, Message{Channel: channel, Payload: "0"}
	Table(t, []Row{
		{Name: "Each lock is free, and its waiters are woken once",
			Before: State{other: held(Hash{a: "1"}), key: held(Hash{b: "2"})},
			Call:   AnswersThen(all, []row.Release{free, free}, []row.Release{{}, {}}), After: State{}, Messages: []Message{first, second}},
		{Name: "One that was lost is left to its holder",
			Before: State{other: held(Hash{c: "1"}), key: held(Hash{b: "1"})},
			Call:   AnswersThen(all, []row.Release{{}, free}, []row.Release{{}, {}}), After: State{other: held(Hash{c: "1"})}, Messages: []Message{second}},
		{Name: "One without a message is only deleted",
			Before: State{other: held(Hash{a: "1"}), key: held(Hash{b: "1"})},
			Call:   AnswersThen(given("", row.Turn{}), []row.Release{free, free}, []row.Release{{}, {}}), After: State{}, Messages: []Message{first}},
		{Name: "A key that is no lock any more is a lost lock, and the others are given back",
			Before: State{other: held(Hash{a: "1"}), key: {Value: "7", TTL: lease}},
			Call:   AnswersThen(all, []row.Release{free, {}}, []row.Release{{}, {}}), After: State{key: {Value: "7", TTL: lease}}, Messages: []Message{first}},
	})
}

func TestPassAllPassesEachLockToTheFirstInItsRow(t *testing.T) {
	onStage(t, func(s *stage) {
		if s.fenced {
			return
		}
		s.holds(b, 1)
		require.NoError(s, s.client.HSet(s.Context(), other, a, 1).Err())
		s.sits(time.Minute, c)
		s.listen(w)
		from := s.now()
		got := send(s, given(channel, row.Turn{Shut: 7 * time.Millisecond}))
		require.Equal(s, free, got[0])
		event, err := s.all.ReceiveTimeout(s.Context(), 30*time.Second)
		require.NoError(s, err)
		require.Equal(s, otherChannel, event.(*redis.Message).Channel)
		s.passedTo(c, got[1], from, "7")
		require.Empty(s, s.row())
	})
}

// Outsiders of one lock get their time, whoever waits for the other.
func TestPassAllLeavesALockOpenForOutsiders(t *testing.T) {
	onStage(t, func(s *stage) {
		if s.fenced {
			return
		}
		s.holds(b, 1)
		require.NoError(s, s.client.HSet(s.Context(), other, a, 1).Err())
		outsider := s.client.Subscribe(s.Context(), channel)
		s.Cleanup(func() { _ = outsider.Close() })
		_, err := outsider.ReceiveTimeout(s.Context(), 30*time.Second)
		require.NoError(s, err)
		got := send(s, given(channel, row.Turn{Shut: time.Second, Open: 4 * time.Millisecond}))
		require.Equal(s, []row.Release{free, {Freed: true, Open: true}}, got)
	})
}

func TestAFullServerTakesSeveralLocksBack(t *testing.T) {
	client := redistest.Process(t, "--maxmemory-policy", "noeviction").Client(t)
	ctx := t.Context()
	require.NoError(t, client.HSet(ctx, other, a, 1).Err())
	require.NoError(t, client.HSet(ctx, key, b, 1).Err())
	require.NoError(t, client.ConfigSet(ctx, "maxmemory", "1").Err())
	got, err := Send(ctx, client, given(channel, row.Turn{}))
	require.NoError(t, err)
	require.Equal(t, []row.Release{free, free}, got)
	require.Empty(t, client.Keys(ctx, "*").Val())
}
