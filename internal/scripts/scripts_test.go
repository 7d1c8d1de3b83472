package scripts_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// commands are those that scripts may use: all of them are in Redis 6.2, in this form. What their options allow is up
// to the reader of the script (PEXPIRE has no GT before 7.0).
var commands = strings.Fields(`
	get set incr incrby decrby decr del exists type persist
	hset hget hdel hexists hgetall hlen hkeys hmget hincrby
	pexpire pttl time
	lpush rpush lpop lrem lindex llen lrange lpos
	zadd zrem zscore zcard zcount zrange zrangebyscore zremrangebyscore zrank zincrby zpopmin
	publish spublish pubsub`)

var (
	called    = regexp.MustCompile(`\b(?:redis\.p?call|insist)\(\s*'(\w+)'`)
	anyCall   = regexp.MustCompile(`redis\.p?call\(\s*([^,)]+)`)
	named     = regexp.MustCompile(`^(?:'\w+'|ARGV\[[^\]]*\]|\w+|\.\.\.)$`) // ...: what insist passes on
	nothing   = regexp.MustCompile(`(?m)\breturn\s*(?:$|;|--|nil\b|false\b|end\b)`)
	comments  = regexp.MustCompile(`(?m)--.*$`)
	functions = regexp.MustCompile(`(?ms)^local function .*?^end$`)
	several   = regexp.MustCompile(`\b(KEYS|ARGV)\[(\d+)-(\d+)\]`) // KEYS[1-3] in a header names three
	argument  = regexp.MustCompile(`\b(KEYS|ARGV)\[([^\]]+)\]`)
)

// eachFile calls fn with every Lua file below this folder.
func eachFile(t *testing.T, fn func(t *testing.T, path, source string)) {
	found := 0
	require.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".lua" {
			return err
		}
		found++
		source, err := os.ReadFile(path)
		t.Run(filepath.ToSlash(path), func(t *testing.T) { fn(t, path, string(source)) })
		return err
	}))
	require.NotZero(t, found, "no Lua file found")
}

// An operation is loaded by the name folder/operation, a prelude by its file name.
func TestEveryLuaFileIsLoadedByItsPackage(t *testing.T) {
	eachFile(t, func(t *testing.T, path, _ string) {
		folder, file := filepath.Split(path)
		name := filepath.Base(folder) + "/" + strings.TrimSuffix(file, ".lua")
		goFiles, err := filepath.Glob(filepath.Join(folder, "*.go"))
		require.NoError(t, err)
		for _, goFile := range goFiles {
			if strings.HasSuffix(goFile, "_test.go") {
				continue
			}
			source, err := os.ReadFile(goFile)
			require.NoError(t, err)
			if strings.Contains(string(source), `"`+name+`"`) || strings.Contains(string(source), `"`+file+`"`) {
				return
			}
		}
		t.Errorf("nothing in %s loads it: name it %q in a call of scripts.Load, or remove it", folder, name)
	})
}

func TestEveryLuaFileSaysWhatItDoesAndWhatItAnswers(t *testing.T) {
	eachFile(t, func(t *testing.T, path, source string) {
		header, _, _ := strings.Cut(source, "\n\n")
		operation := strings.TrimSuffix(filepath.Base(path), ".lua")
		require.True(t, strings.HasPrefix(header, "-- "+operation+" "), "the header begins with the operation and its verb")
		if strings.Contains(functions.ReplaceAllString(source, ""), "return ") {
			require.Contains(t, header, "Answers ")
		}
		for _, line := range strings.Split(header, "\n") {
			require.True(t, strings.HasPrefix(line, "--"), "the header ends with an empty line, found %q", line)
		}
		if strings.Contains(header, "KEYS[i]") {
			return // as many as the caller likes
		}
		header = several.ReplaceAllStringFunc(header, func(some string) (all string) {
			of := several.FindStringSubmatch(some)
			first, _ := strconv.Atoi(of[2])
			last, _ := strconv.Atoi(of[3])
			for i := first; i <= last; i++ {
				all += fmt.Sprintf("%s[%d] ", of[1], i)
			}
			return all
		})
		for _, use := range argument.FindAllStringSubmatch(comments.ReplaceAllString(source, ""), -1) {
			if _, err := strconv.Atoi(use[2]); err == nil || !strings.Contains(header, use[1]+"[i]") {
				require.Contains(t, header, use[0], "the header names every key and argument")
			}
		}
	})
}

// A nil reply is an error to the client library. The tables prove that no reply of theirs is nil; this one that none
// can be by a careless return.
func TestNoScriptAnswersNil(t *testing.T) {
	eachFile(t, func(t *testing.T, _, source string) {
		require.Empty(t, nothing.FindAllString(comments.ReplaceAllString(source, ""), -1), "a return without a value")
	})
}

func TestScriptsUseNoCommandYoungerThanRedis62(t *testing.T) {
	eachFile(t, func(t *testing.T, _, source string) {
		for _, call := range called.FindAllStringSubmatch(source, -1) {
			require.Contains(t, commands, call[1], "write it in lower case, and see that Redis 6.2 has it")
		}
		for _, call := range anyCall.FindAllStringSubmatch(source, -1) {
			require.Regexp(t, named, strings.TrimSpace(call[1]), "the command is a literal or the argument that names it")
		}
	})
}

func TestRepliesOfAnotherShapeAreErrors(t *testing.T) {
	for number, want := range map[int64]bool{0: false, 1: true} {
		got, err := scripts.Bool(scripts.Reply{Int: number})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := scripts.Bool(scripts.Reply{Int: 2})
	require.Error(t, err)

	for element, want := range map[any]int64{int64(7): 7, "7": 7, "-7": -7, "9223372036854775807": 9223372036854775807} {
		got, err := scripts.Number(element)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, element := range []any{nil, "many", 1.5} {
		_, err := scripts.Number(element)
		require.Error(t, err, "%v", element)
	}
}

func TestTTLTellsAbsenceFromEndlessness(t *testing.T) {
	for element, want := range map[any]struct {
		exists bool
		ttl    time.Duration
	}{
		int64(-2):   {false, 0},
		int64(-1):   {true, -time.Millisecond},
		int64(0):    {true, 0},
		int64(1500): {true, 1500 * time.Millisecond},
	} {
		e := scripts.Reply{List: []any{element}}.Elements()
		exists, ttl := e.TTL()
		require.NoError(t, e.End())
		require.Equal(t, want.exists, exists, "%v", element)
		require.Equal(t, want.ttl, ttl, "%v", element)
	}
	e := scripts.Reply{List: []any{"soon"}}.Elements()
	_, _ = e.TTL()
	require.Error(t, e.End())
}

// miniredis reads the clock for each command of a script, so a lease can end between two of them.
func TestALeaseThatEndsWhileTheScriptRunsIsARefusalWithoutAWait(t *testing.T) {
	got, err := scripts.Taken(scripts.Reply{Int: -2})
	require.NoError(t, err)
	require.Equal(t, scripts.Attempt{}, got)
	_, err = scripts.Taken(scripts.Reply{Int: -4})
	require.Error(t, err)
}
