package keys_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestDerivedNamesShareTheHashTagOfTheirObject(t *testing.T) {
	for _, row := range []struct{ name, prefixed, suffixed string }{
		{"myLock", "redisson_lock__channel:{myLock}", "{myLock}:timeout"},
		{"{grp}:a", "redisson_lock__channel:{grp}:a", "{grp}:a:timeout"},
		{"my{tag}lock", "redisson_lock__channel:my{tag}lock", "my{tag}lock:timeout"},
		{"a{b", "redisson_lock__channel:a{b", "a{b:timeout"},
		{"a}b", "redisson_lock__channel:{a}b}", "{a}b}:timeout"}, // only an opening brace counts
	} {
		require.Equal(t, row.prefixed, keys.Prefixed("redisson_lock__channel", row.name))
		require.Equal(t, row.suffixed, keys.Suffixed(row.name, "timeout"))
	}
}

func TestKeysAndChannelsAreNamedAsRedissonNamesThem(t *testing.T) {
	const owner = "b983c153-7421-469a-addb-44fb92259a1b:42"
	for _, row := range []struct{ got, want string }{
		{keys.LockChannel("myLock"), "redisson_lock__channel:{myLock}"},
		{keys.ReadWriteChannel("myLock"), "redisson_rwlock:{myLock}"},
		{keys.SemaphoreChannel("s"), "redisson_sc:{s}"},
		{keys.FencingToken("myLock"), "redisson_lock_token:{myLock}"},
		{keys.FairQueue("myLock"), "redisson_lock_queue:{myLock}"},
		{keys.FairTimeouts("myLock"), "redisson_lock_timeout:{myLock}"},
		{keys.PermitTimeouts("s"), "{s}:timeout"},
		{keys.ReadMarker(keys.Tag("myLock"), owner, 1), "{myLock}:" + owner + ":rwlock_timeout:1"},
		{keys.LatchChannel("l"), "redisson_countdownlatch__channel__{l}"},
		{keys.LatchChannel("{a}b"), "redisson_countdownlatch__channel__{{a}b}"}, // braces in any case
		{keys.FairQueue("{g}x"), "redisson_lock_queue:{g}x"},
		{keys.ReadMarker(keys.Tag("{g}x"), owner, 12), "{g}x:" + owner + ":rwlock_timeout:12"},
	} {
		require.Equal(t, row.want, row.got)
	}
}

func TestWhatOnlyThisLibraryKnowsOfAnObjectIsInItsSlotAndNoOthers(t *testing.T) {
	own := map[string]string{}
	for _, name := range []string{"s", "{s}", ":{s}", "::{s}", "{{s}}", "{s}:x", "a{s}"} {
		for _, key := range []string{
			keys.LockRow(name), keys.Guard(name), keys.Writers(name), keys.Lanes(name, "one"), keys.Lanes(name, "two"),
			keys.LatchRecord(name),
		} {
			require.Equal(t, keys.Slot(name), keys.Slot(key), name)
			require.Empty(t, own[key], name)
			own[key] = name
		}
	}
}

func TestSlotsAreThoseOfTheClusterSpecification(t *testing.T) {
	for key, slot := range map[string]int{
		"": 0, "123456789": 0x31C3, "foo": 12182, "b": 3300, "{user1000}.following": keys.Slot("user1000"),
		"{user1000}.followers": keys.Slot("user1000"), "foo{}{bar}": keys.Slot("foo{}{bar}"), "foo{{bar}}zap": keys.Slot("{bar"),
		"foo{bar}{zap}": keys.Slot("bar"),
	} {
		require.Equal(t, slot, keys.Slot(key), key)
	}
	require.NotEqual(t, keys.Slot("bar"), keys.Slot("foo{}{bar}"), "an empty tag is none")
}

func TestSlotsAgreeWithTheServer(t *testing.T) {
	client := redistest.Process(t, "--cluster-enabled", "yes").Client(t)
	const alphabet = "ab{}:\xff"
	for range 500 {
		key := make([]byte, 1+rand.IntN(12))
		for i := range key {
			key[i] = alphabet[rand.IntN(len(alphabet))]
		}
		want, err := client.ClusterKeySlot(context.Background(), string(key)).Result()
		require.NoError(t, err)
		require.EqualValues(t, want, keys.Slot(string(key)), "%q", key)
	}
}

func TestANameFitsAClusterExactlyIfAllItsKeysShareItsSlot(t *testing.T) {
	for name, fits := range map[string]bool{
		"plain": true, "with:colon": true, "{tag}": true, "{tag}:x": true, "my{tag}lock": true, "{a}{b}": true, "{{a}b": true,
		"a{b": false, "a}b": false, "{}": false, "{}{a}": false, "a{}": false, "}a{": false, "}": false, "}{a}": true,
	} {
		require.Equal(t, fits, keys.FitsCluster(name), name)
	}
	const alphabet = "ab{}"
	for range 20_000 {
		text := make([]byte, 1+rand.IntN(8))
		for i := range text {
			text[i] = alphabet[rand.IntN(len(alphabet))]
		}
		name := string(text)
		if !keys.FitsCluster(name) {
			continue
		}
		for _, key := range []string{
			keys.LockChannel(name), keys.FairQueue(name), keys.PermitTimeouts(name), keys.ReadMarker(keys.Tag(name), "o:1", 1), keys.Lanes(name, "s"),
			keys.LatchRecord(name),
		} {
			require.Equal(t, keys.Slot(name), keys.Slot(key), fmt.Sprintf("%q of %q", key, name))
		}
	}
}
