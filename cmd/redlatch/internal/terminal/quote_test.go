package terminal_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
)

// hostile are names that a terminal would obey, or that look like others.
var hostile = map[string]string{
	"a\x1b[2Jb":      `"a\x1b[2Jb"`,
	"a\rb\n":         `"a\rb\n"`,
	"\u202eevil":     `"\u202eevil"`,
	"a\u200bb":       `"a\u200bb"`,
	"a\u0300b":       `"a\u0300b"`,
	"\xff\xfe":       `"\xff\xfe"`,
	"\x9b2J":         `"\x9b2J"`,
	"\u009b2J":       `"\u009b2J"`,
	"":               `""`,
	`"quoted"`:       `"\"quoted\""`,
	`back\slash`:     `"back\\slash"`,
	"two words":      `"two words"`,
	"no\u00a0break":  `"no\u00a0break"`,
	"\U000e0041tag":  `"\U000e0041tag"`,
	"\ufffd":         "\ufffd",
	"orders:{42}":    "orders:{42}",
	"Überweisung/日本": "Überweisung/日本",
}

func TestANameThatATerminalWouldObeyIsQuoted(t *testing.T) {
	for name, want := range hostile {
		shown := terminal.Quote(name)
		require.Equal(t, want, shown)
		if shown != name {
			back, err := strconv.Unquote(shown)
			require.NoError(t, err)
			require.Equal(t, name, back)
		}
	}
}

func TestProseHasNothingThatATerminalWouldObey(t *testing.T) {
	require.Equal(t, "web-3 billing pid 17 (blue)", terminal.Clean("web-3 billing pid 17 (blue)"))
	require.Equal(t, `a\x1b[2J \u202e\xff`, terminal.Clean("a\x1b[2J \u202e\xff"))
}

func FuzzWhatIsShownIsHarmlessAndOfOneName(f *testing.F) {
	for name := range hostile {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, shown := range []string{terminal.Quote(name), terminal.Clean(name)} {
			require.True(t, utf8.ValidString(shown))
			for _, r := range shown {
				require.True(t, strconv.IsPrint(r), "%q", shown)
			}
		}
		if shown := terminal.Quote(name); strings.HasPrefix(shown, `"`) {
			back, err := strconv.Unquote(shown)
			require.NoError(t, err)
			require.Equal(t, name, back)
		} else {
			require.Equal(t, name, shown)
		}
	})
}
