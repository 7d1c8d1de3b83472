package scripts_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"weak"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
)

func anyScript() *scripts.Script { return scripts.FromSource("test/any", "return 1") }

// sent is what the command puts on the wire, after the script's hash.
func sent[R any](c scripts.Command[R]) []any { return c.Cmder(context.Background(), false).Args()[2:] }

func TestACommandHasItsOwnArgumentsWhateverTheLastOneHad(t *testing.T) {
	s := anyScript()
	for _, args := range [][]any{
		{"a", int64(300), 7}, {"a", int64(300), 7}, {"b", int64(300), 7}, {"a", int64(301), 7}, {"a", "300", int64(7)},
		{}, {"a"}, {int64(1 << 40), "a", "b", "c", "d", "e", "f", "g", "h", "i"}, {"a", int64(300), 7},
	} {
		for _, keys := range [][]string{{"k"}, {"k", "l"}, {"l", "k"}} {
			want := []any{len(keys)}
			for _, key := range keys {
				want = append(want, key)
			}
			require.Equal(t, append(want, args...), sent(scripts.Integer(s, keys, args, scripts.Int64)))
		}
	}
}

func TestForeignArgumentsKeepTheirType(t *testing.T) {
	s := anyScript()
	got := sent(scripts.Foreign(s, []string{"k"}, []any{"own"}, []any{1.5, []byte("b"), true}, scripts.Int64))
	require.Equal(t, []any{1, "k", "own", 1.5, []byte("b"), true}, got)
}

// What a script remembers of its last command is its own: others read it, and it stays for as long as the program runs.
func TestForeignArgumentsAreNotRemembered(t *testing.T) {
	s := anyScript()
	foreign := func() weak.Pointer[[1 << 10]byte] {
		value := new([1 << 10]byte)
		_ = sent(scripts.Foreign(s, []string{"k"}, []any{"own"}, []any{value[:]}, scripts.Int64))
		return weak.Make(value)
	}()
	runtime.GC()
	require.True(t, foreign.Value() == nil)
	require.Equal(t, []any{1, "k", "own"}, sent(scripts.Integer(s, []string{"k"}, []any{"own"}, scripts.Int64)))
}

func TestAnArgumentOfAnotherTypeIsAMistake(t *testing.T) {
	require.PanicsWithValue(t, "redlatch: an argument of a script is neither a string nor an int or int64",
		func() { scripts.Integer(anyScript(), []string{"k"}, []any{1.5}, scripts.Int64) })
}

func TestEverySendHasItsOwnReply(t *testing.T) {
	c := scripts.Integer(anyScript(), []string{"k"}, []any{"a"}, scripts.Int64)
	first, second := c.Cmder(context.Background(), false), c.Cmder(context.Background(), true)
	first.(interface{ SetVal(int64) }).SetVal(1)
	second.(interface{ SetVal(int64) }).SetVal(2)
	for want, cmd := range map[int64]redis.Cmder{1: first, 2: second} {
		got, err := c.Read(cmd)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.Equal(t, "eval", second.Name())
	require.Equal(t, first.Args()[2:], second.Args()[2:])
}

func TestCommandsOfOneScriptAreMadeAndSentSideBySide(t *testing.T) {
	s := anyScript()
	shared := scripts.Integer(s, []string{"shared"}, nil, scripts.Int64)
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for range 200 {
				key := fmt.Sprint("k", n)
				if got := sent(scripts.Integer(s, []string{key}, []any{int64(n)}, scripts.Int64)); got[1] != key || got[2] != int64(n) {
					t.Errorf("%v was sent for %s", got, key)
				}
				_ = shared.Cmder(context.Background(), false)
			}
		})
	}
	wg.Wait()
}

func TestANarrowCommandHasTheKeysThatItsScriptNeedsAndAllArguments(t *testing.T) {
	all := scripts.Integer(anyScript(), []string{"k", "l", "m"}, []any{"a", int64(3)}, scripts.Int64)
	_, ok := all.Narrow(false)
	require.False(t, ok, "it needs all")
	_, ok = all.Needs(3).Narrow(false)
	require.False(t, ok, "it has no more than it needs")
	wide := scripts.Map(all.Needs(2), func(n int64) int64 { return -n })
	narrow, ok := wide.Narrow(false)
	require.True(t, ok)
	require.Equal(t, []any{2, "k", "l", "a", int64(3)}, sent(narrow))
	require.Equal(t, []any{3, "k", "l", "m", "a", int64(3)}, sent(wide), "the wide one is as it was")
	cmd := narrow.Cmder(context.Background(), false)
	cmd.(interface{ SetVal(int64) }).SetVal(7)
	got, err := narrow.Read(cmd)
	require.NoError(t, err)
	require.EqualValues(t, -7, got)
	_, ok = narrow.Narrow(false)
	require.False(t, ok)
}

// A user without the right to the last key does without it; a slot that moves is waited for.
func TestAWholeCommandIsNarrowedForWantOfARightOnly(t *testing.T) {
	whole := scripts.Integer(anyScript(), []string{"k", "l", "m"}, []any{"a"}, scripts.Int64).Whole()
	_, ok := whole.Narrow(true)
	require.False(t, ok)
	narrow, ok := whole.Narrow(false)
	require.True(t, ok)
	require.Equal(t, []any{2, "k", "l", "a"}, sent(narrow))
}

type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

func TestAScriptIsGivenTheKeysForWhichItAsks(t *testing.T) {
	plain := scripts.Integer(anyScript(), []string{"k", "l"}, []any{"a"}, scripts.Int64)
	asks := refusal("REDLATCH-KEYS x 1 y 2")
	_, ok := plain.Widen(asks)
	require.False(t, ok, "it cannot ask")
	finds := scripts.Map(plain.Whole().Finds(func(key string, asked []string, _ int) (names []string, err error) {
		for _, word := range asked {
			names = append(names, key+":"+word)
		}
		return names, nil
	}), func(n int64) int64 { return n })
	for _, other := range []error{nil, refusal("ERR"), errors.New(string(asks))} {
		_, ok = finds.Widen(other)
		require.False(t, ok, "%v", other)
	}
	wide, ok := finds.Widen(asks)
	require.True(t, ok)
	require.Equal(t, []any{6, "k", "l", "k:x", "k:1", "k:y", "k:2", "a"}, sent(wide))
	require.Equal(t, []any{2, "k", "l", "a"}, sent(finds))
	wide, ok = wide.Widen(refusal("REDLATCH-KEYS z"))
	require.True(t, ok)
	require.Equal(t, []any{7, "k", "l", "k:x", "k:1", "k:y", "k:2", "k:z", "a"}, sent(wide))

	narrow, ok := wide.Narrow(false)
	require.True(t, ok)
	require.Equal(t, []any{1, "k", "a"}, sent(narrow))
	wide, ok = narrow.Widen(asks)
	require.True(t, ok)
	_, ok = wide.Narrow(false)
	require.False(t, ok, "what it has asked for it needs")
}
