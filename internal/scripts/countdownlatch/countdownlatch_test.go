package countdownlatch_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/countdownlatch"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const (
	key    = "l"
	lanes  = "redlatch_lanes:{l}:session"
	record = "redlatch_latch:{l}"
	keep   = 150 * time.Second
	day    = 24 * time.Hour
	ttl    = time.Hour
)

var (
	of     = countdownlatch.NamesOf(key)
	wake   = scripts.Wake{Publish: "PUBLISH", Channel: "redisson_countdownlatch__channel__{l}"}
	first  = lane.Call{Key: lanes, Lane: 1, Seq: 1}
	wrong  = State{key: {Value: Hash{"owner": "1"}, TTL: ttl}} // a lock
	text   = State{key: {Value: "many", TTL: ttl}}
	opened = []Message{{Channel: wake.Channel, Payload: "0"}}
	closed = []Message{{Channel: wake.Channel, Payload: "1"}}
)

// has is a latch without a TTL.
func has(count string) State { return State{key: {Value: count}} }

// did is a latch, with the lane in which an operation has stored its number and reply.
func did(count string, ttl time.Duration, seqAndReply string) State {
	return State{key: {Value: count, TTL: ttl}, lanes: {Value: Hash{"1": seqAndReply}, TTL: keep}}
}

// only is no latch, with the lane.
func only(seqAndReply string) State { return State{lanes: {Value: Hash{"1": seqAndReply}, TTL: keep}} }

// noted is the state with a record that has these fields, field and value in turn, for a day after.
func noted(s State, after time.Duration, fields ...any) State {
	s = maps.Clone(s)
	all := Fields{}
	for i := 0; i < len(fields); i += 2 {
		all[fields[i].(string)] = fields[i+1]
	}
	s[record] = Key{Value: all, TTL: after + day}
	return s
}

func TestTrySetCount(t *testing.T) {
	set := func(ttl time.Duration) scripts.Command[bool] {
		return countdownlatch.TrySetCount(of, 2, ttl, 7, wake, first)
	}
	Table(t, []Row{
		{Name: "An open latch gets a count, and all are told",
			Before: State{}, Call: Answers(set(0), true), After: noted(did("2", 0, "1:1"), 0, "epoch", "7", "round", "1"), Messages: closed},
		{Name: "With a TTL", Before: State{}, Call: Answers(set(ttl), true),
			After: noted(did("2", ttl, "1:1"), ttl, "epoch", "7", "round", "1", "until", ttl), Messages: closed},
		{Name: "A round that was counted down needs no mention",
			Before: noted(State{}, 0, "epoch", "x", "round", "6", "end", "counted", "past", "3d 2x"), Call: Answers(set(0), true),
			After: noted(did("2", 0, "1:1"), 0, "epoch", "x", "round", "7", "past", "3d 2x"), Messages: closed},
		{Name: "Nor does one that another program counted down, as far as is known",
			Before: noted(State{}, 0, "epoch", "x", "round", "6", "until", ttl), Call: Answers(set(0), true),
			After: noted(did("2", 0, "1:1"), 0, "epoch", "x", "round", "7"), Messages: closed},
		{Name: "One that was deleted is remembered",
			Before: noted(State{}, 0, "epoch", "x", "round", "6", "end", "deleted", "past", "3d 2x"), Call: Answers(set(0), true),
			After: noted(did("2", 0, "1:1"), 0, "epoch", "x", "round", "7", "past", "6d 3d 2x"), Messages: closed},
		{Name: "So is one that has expired",
			Before: noted(State{}, 0, "epoch", "x", "round", "16", "until", -time.Minute), Call: Answers(set(ttl), true),
			After: noted(did("2", ttl, "1:1"), ttl, "epoch", "x", "round", "17", "until", ttl, "past", "16x"), Messages: closed},
		{Name: "And another program's that was deleted, once",
			Before: noted(State{}, 0, "foreign", "deleted", "past", "0d 10d"), Call: Answers(set(0), true),
			After: noted(did("2", 0, "1:1"), 0, "epoch", "7", "round", "1", "past", "0d 10d"), Messages: closed},
		{Name: "Another program's that was counted down ends the memory of the one before it",
			Before: noted(State{}, 0, "epoch", "x", "round", "11", "end", "counted", "foreign", "counted", "past", "0d 10d"), Call: Answers(set(0), true),
			After: noted(did("2", 0, "1:1"), 0, "epoch", "x", "round", "12", "past", "10d"), Messages: closed},
		{Name: "Of sixteen the oldest is forgotten, and that it is",
			Before: noted(State{}, 0, "epoch", "x", "round", "40", "end", "deleted", "past", "39d 38d 37d 36d 35d 34d 33d 32d 31d 30d 29d 28d 27d 26d 25d 24d"),
			Call:   Answers(set(0), true), After: noted(did("2", 0, "1:1"), 0, "epoch", "x", "round", "41", "from", "25",
				"past", "40d 39d 38d 37d 36d 35d 34d 33d 32d 31d 30d 29d 28d 27d 26d 25d"), Messages: closed},
		{Name: "What should be a number in the record and is none counts as missing",
			Before: noted(State{}, 0, "epoch", "x", "round", "many", "until", "late"), Call: Answers(set(0), true),
			After: noted(did("2", 0, "1:1"), 0, "epoch", "x", "round", "1"), Messages: closed},
		{Name: "So does what makes no sense of a round that is one",
			Before: noted(State{}, 0, "epoch", "x", "round", "6", "until", "late", "past", "%%"), Call: Answers(set(0), true),
			After: noted(did("2", 0, "1:1"), 0, "epoch", "x", "round", "7"), Messages: closed},
		{Name: "A record that is none is an error",
			Before: State{record: {Value: "x"}}, Call: Fails(set(0), "WRONGTYPE")},
		{Name: "A latch that counts is left alone", Before: has("1"), Call: Answers(set(ttl), false)},
		{Name: "So is another program's 0", Before: has("0"), Call: Answers(set(0), false)},
		{Name: "A lock is no latch", Before: wrong, Call: Fails(set(0), "WRONGTYPE")},
		{Name: "Text is no number", Before: text, Call: Fails(set(0), "not an integer")},
	})
}

func TestCountDown(t *testing.T) {
	countDown, three := countdownlatch.CountDown(of, 1, wake, first), countdownlatch.CountDown(of, 3, wake, first)
	Table(t, []Row{
		{Name: "One is taken, and the key keeps its TTL",
			Before: State{key: {Value: "10", TTL: ttl}}, Call: Answers(countDown, 9), After: did("9", ttl, "1:9")},
		{Name: "The last one opens the latch", Before: has("1"), Call: Answers(countDown, 0), After: noted(only("1:0"), 0, "foreign", "counted"), Messages: opened},
		{Name: "The record says so of a round of ours",
			Before: noted(has("1"), time.Hour, "epoch", "x", "round", "3", "past", "2d"), Call: Answers(countDown, 0),
			After: noted(only("1:0"), 0, "epoch", "x", "round", "3", "past", "2d", "end", "counted"), Messages: opened},
		{Name: "And of a latch that another program has set since",
			Before: noted(has("1"), time.Hour, "epoch", "x", "round", "3", "end", "deleted", "foreign", "deleted"), Call: Answers(countDown, 0),
			After: noted(only("1:0"), 0, "epoch", "x", "round", "3", "end", "deleted", "foreign", "counted"), Messages: opened},
		{Name: "Before the last one it says nothing", Before: noted(has("2"), 0, "epoch", "x", "round", "3"), Call: Answers(countDown, 1),
			After: noted(did("1", 0, "1:1"), 0, "epoch", "x", "round", "3")},
		{Name: "A record that is none is an error",
			Before: State{key: {Value: "1"}, record: {Value: "x"}}, Call: Fails(countDown, "WRONGTYPE")},
		{Name: "An open latch stays as it is", Before: State{}, Call: Answers(countDown, 0)},
		{Name: "Another program's 0 is removed silently", Before: has("0"), Call: Answers(countDown, 0), After: noted(only("1:0"), 0, "foreign", "counted")},
		{Name: "So is a negative count", Before: has("-3"), Call: Answers(countDown, 0), After: noted(only("1:0"), 0, "foreign", "counted")},
		{Name: "Several are taken at once", Before: State{key: {Value: "10", TTL: ttl}}, Call: Answers(three, 7), After: did("7", ttl, "1:7")},
		{Name: "As many as there are open the latch", Before: has("3"), Call: Answers(three, 0), After: noted(only("1:0"), 0, "foreign", "counted"), Messages: opened},
		{Name: "More than there are open it too, and say so once",
			Before: has("2"), Call: Answers(three, 0), After: noted(only("1:0"), 0, "foreign", "counted"), Messages: opened},
		{Name: "Of a latch that is open several take nothing", Before: State{}, Call: Answers(three, 0)},
		{Name: "Several remove another program's count below 0 silently",
			Before: has("-3"), Call: Answers(three, 0), After: noted(only("1:0"), 0, "foreign", "counted")},
		{Name: "Beyond the exact numbers of Lua the rest is exact",
			Before: has("9223372036854775807"), Call: Answers(countDown, 9223372036854775806),
			After: did("9223372036854775806", 0, "1:9223372036854775806")},
		{Name: "A number out of range changes nothing",
			Before: has("9223372036854775808"), Call: Fails(countDown, "not an integer")},
		{Name: "A lock is no latch", Before: wrong, Call: Fails(countDown, "WRONGTYPE")},
		{Name: "Text is no number", Before: text, Call: Fails(countDown, "not an integer")},
	})
}

func TestCount(t *testing.T) {
	count := countdownlatch.Count(key)
	Table(t, []Row{
		{Name: "What remains is answered", Before: has("2"), Call: Answers(count, 2)},
		{Name: "to the last one", Before: has("1"), Call: Answers(count, 1)},
		{Name: "The largest count exactly", Before: has("9223372036854775807"), Call: Answers(count, 9223372036854775807)},
		{Name: "A latch that does not exist is open", Before: State{}, Call: Answers(count, 0)},
		{Name: "So is one at 0", Before: has("0"), Call: Answers(count, 0)},
		{Name: "So is one below", Before: has("-3"), Call: Answers(count, 0)},
		{Name: "A lock is no latch", Before: wrong, Call: Fails(count, "WRONGTYPE")},
		{Name: "Text is no number", Before: text, Call: Fails(count, "not an integer")},
	})
}

func TestDelete(t *testing.T) {
	remove := countdownlatch.Delete(of, wake, first)
	Table(t, []Row{
		{Name: "A latch is removed, which opens it", Before: has("2"), Call: Answers(remove, true), After: noted(only("1:1"), 0, "foreign", "deleted"), Messages: opened},
		{Name: "The record says so of a round of ours", Before: noted(has("2"), time.Hour, "epoch", "x", "round", "3", "until", time.Hour), Call: Answers(remove, true),
			After: noted(only("1:1"), 0, "epoch", "x", "round", "3", "until", time.Hour, "end", "deleted"), Messages: opened},
		{Name: "A record that is none is an error",
			Before: State{key: {Value: "1"}, record: {Value: "x"}}, Call: Fails(remove, "WRONGTYPE")},
		{Name: "There is nothing to remove", Before: State{}, Call: Answers(remove, false)},
		{Name: "A lock is not removed", Before: wrong, Call: Fails(remove, "WRONGTYPE")},
		{Name: "Somebody's text is not removed", Before: text, Call: Fails(remove, "not an integer")},
	})
}

// The golden states of the latch. Ours differs in one: a deletion says "0", so that waiters look again.
func TestGoldenStates(t *testing.T) {
	require.Equal(t, wake.Channel, keys.LatchChannel(key))
	require.Equal(t, lanes, keys.Lanes(key, "session"))
	seq := int64(0)
	next := func() lane.Call { seq++; return lane.Call{Key: lanes, Lane: 1, Seq: seq} }
	Sequence(t, []Row{
		{Name: "trySetCount(2)", Before: State{}, Call: Answers(countdownlatch.TrySetCount(of, 2, 0, 7, wake, next()), true),
			After: noted(did("2", 0, "1:1"), 0, "epoch", "7", "round", "1"), Messages: closed},
		{Name: "countDown", Call: Answers(countdownlatch.CountDown(of, 1, wake, next()), 1),
			After: noted(did("1", 0, "2:1"), 0, "epoch", "7", "round", "1")},
		{Name: "countDown to zero", Call: Answers(countdownlatch.CountDown(of, 1, wake, next()), 0),
			After: noted(only("3:0"), 0, "epoch", "7", "round", "1", "end", "counted"), Messages: opened},
		{Name: "countDown on absent", Call: Answers(countdownlatch.CountDown(of, 1, wake, next()), 0)},
		{Name: "trySetCount(2) again", Call: Answers(countdownlatch.TrySetCount(of, 2, 0, 7, wake, next()), true),
			After: noted(did("2", 0, "5:1"), 0, "epoch", "7", "round", "2"), Messages: closed},
		{Name: "delete with count 2", Call: Answers(countdownlatch.Delete(of, wake, next()), true),
			After: noted(only("6:1"), 0, "epoch", "7", "round", "2", "end", "deleted"), Messages: opened},
	})
}

func TestAFullServerCountsDown(t *testing.T) {
	ctx := t.Context()
	client := redistest.Process(t, "--maxmemory-policy", "noeviction").Client(t)
	require.NoError(t, client.Set(ctx, key, "2", 0).Err())
	require.NoError(t, client.ConfigSet(ctx, "maxmemory", "1").Err())
	require.Error(t, client.Set(ctx, "other", "2", 0).Err(), "the server should be full")
	for seq := int64(1); seq <= 2; seq++ {
		left, err := Send(ctx, client, countdownlatch.CountDown(of, 1, wake, lane.Call{Key: lanes, Lane: 1, Seq: seq}))
		require.NoError(t, err)
		require.EqualValues(t, 2-seq, left)
	}
	require.Zero(t, client.Exists(ctx, key).Val())
}

func TestARefusedMessageIsNoRefusalOfWhatWasDone(t *testing.T) {
	ctx := t.Context()
	server := redistest.Process(t)
	admin, client := server.Client(t), server.User(t, "resetchannels")
	seq := int64(0)
	next := func() lane.Call { seq++; return lane.Call{Key: lanes, Lane: 1, Seq: seq} }
	set := func() {
		set, err := Send(ctx, client, countdownlatch.TrySetCount(of, 1, 0, 7, wake, next()))
		require.NoError(t, err)
		require.True(t, set)
	}
	set()
	left, err := Send(ctx, client, countdownlatch.CountDown(of, 1, wake, next()))
	require.NoError(t, err)
	require.Zero(t, left)
	set()
	gone, err := Send(ctx, client, countdownlatch.Delete(of, wake, next()))
	require.NoError(t, err)
	require.True(t, gone)
	require.Zero(t, admin.Exists(ctx, key).Val())
}
