package scripts_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
)

func TestAScriptIsUntouchedUpToItsFirstWrite(t *testing.T) {
	s := scripts.FromSource("a/b", "local a = redis.call('get', KEYS[1])\n"+ // 1
		"local function put(x)\n  redis.call('set', KEYS[1], x)\nend\n"+ // 2 to 4
		"if a then\n  return redis.call('hget', KEYS[2], a)\nend\n"+ // 5 to 7
		"redis.call('hset', KEYS[2], 'f', '1') -- the first write\n"+ // 8
		"redis.call('pttl', KEYS[2])\n") // 9
	for line, want := range map[string]bool{"1": true, "3": false, "6": true, "8": true, "9": false, "99": false} {
		require.Equal(t, want, s.Untouched(errors.New("ERR refused script: 2e7bd2f1, on @user_script:"+line+".")), line)
		require.Equal(t, want, s.Untouched(errors.New("ERR Error running script (call to f_1): @user_script:7: @user_script: "+line+": refused")), line)
	}
	require.False(t, s.Untouched(errors.New("ERR refused")), "no line is named")

	called := scripts.FromSource("a/b", "local function put(x)\n  redis.call('set', KEYS[1], x)\nend\nput(1)\nredis.call('get', KEYS[1])\n")
	require.False(t, called.Untouched(errors.New("refused, on @user_script:5.")), "behind a function that writes")
	whole := scripts.FromSource("a/b", "local function all()\nredis.call('del', KEYS[1])\nif a then\nend\nredis.call('get', KEYS[1])\nend\nreturn all()\n")
	require.False(t, whole.Untouched(errors.New("refused, on @user_script:5.")), "in a script that is a function")
}
