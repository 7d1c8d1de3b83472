package scripts

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Untouched tells whether the script had certainly changed nothing when it met err, the server's refusal of
// one of its commands, of which the server names the line. Up to its first write a script runs through its
// lines in their order, but for functions, which are called from anywhere.
func (s *Script) Untouched(err error) bool {
	at, inside := lineOf(err), false
	for i, line := range strings.Split(s.source, "\n") {
		code, _, _ := strings.Cut(line, "--")
		body := strings.HasPrefix(line, " ") || code == ""
		switch {
		case inside && code == "end":
			inside = false
			continue
		case inside && !body: // the function is a whole script
			return false
		case strings.HasPrefix(code, "local function "):
			inside = true
			continue
		}
		if i+1 == at {
			return !inside && changes(code) <= 1
		}
		if !inside && changes(code) > 0 {
			return false
		}
	}
	return false
}

var (
	position = regexp.MustCompile(`@user_script: ?(\d+)`)
	calls    = regexp.MustCompile(`([\w.]+)\((?:'(\w+)')?`)
	harmless = regexp.MustCompile(`^(?:redis\.error_reply|tonumber|tostring|type|ipairs|pairs|unpack|(?:math|string|table)\.\w+|if|and|or|not|return)$`)
)

// readers are the commands of scripts that change nothing.
var readers = []string{"exists", "get", "hexists", "hget", "hgetall", "hlen", "lindex", "llen", "lpos", "lrange",
	"pttl", "pubsub", "time", "type",
	"zcard", "zcount", "zrange", "zscore"}

// changes is how many calls on a line may change something.
func changes(code string) (n int) {
	for _, call := range calls.FindAllStringSubmatch(code, -1) {
		command := call[1] == "redis.call" || call[1] == "redis.pcall"
		if command && !slices.Contains(readers, call[2]) || !command && !harmless.MatchString(call[1]) {
			n++
		}
	}
	return n
}

// lineOf is the line that an error names last, 0 if it names none.
func lineOf(err error) int {
	found := position.FindAllStringSubmatch(err.Error(), -1)
	if len(found) == 0 {
		return 0
	}
	line, _ := strconv.Atoi(found[len(found)-1][1])
	return line
}
