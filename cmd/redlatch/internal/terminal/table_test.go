package terminal_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
)

func sample() *terminal.Table {
	t := &terminal.Table{Columns: []terminal.Column{
		{Heading: "NAME", Shrinks: terminal.InTheMiddle}, {Heading: "HELD BY", Shrinks: terminal.InLines}, {Heading: "AGE", Right: true},
	}}
	t.Row(terminal.Cell{Text: "orders:customer:9381:42"}, terminal.Cell{Text: "web-3 billing pid 17 (blue)", Style: terminal.Red}, terminal.Cell{Text: "4 min"})
	t.Row(terminal.Cell{Text: "日本"}, terminal.Cell{}, terminal.Cell{Text: "12 s"})
	t.Row(terminal.Cell{}, terminal.Cell{Text: "last"})
	return t
}

func TestATableIsAsWideAsItsTexts(t *testing.T) {
	require.Equal(t, []string{
		"NAME                     HELD BY                        AGE",
		"orders:customer:9381:42  web-3 billing pid 17 (blue)  4 min",
		"日本                                                   12 s",
		"                         last",
	}, sample().Lines(&terminal.Output{}))
}

func TestATableFitsItsTerminal(t *testing.T) {
	require.Equal(t, []string{
		"NAME                  HELD BY          AGE",
		"orders:cu…er:9381:42  web-3 billing  4 min",
		"                      pid 17 (blue)",
	}, sample().Lines(&terminal.Output{Width: 42})[:3])
	for width := 1; width < 70; width++ {
		for _, line := range sample().Lines(&terminal.Output{Width: width}) {
			require.LessOrEqual(t, utf8.RuneCountInString(line), width, line)
		}
	}
}

func TestALongNameOfAFileDoesNotMakeEveryLineLong(t *testing.T) {
	table := sample()
	table.Row(terminal.Cell{Text: strings.Repeat("x", 10_000)}, terminal.Cell{Text: "y"})
	lines := table.Lines(&terminal.Output{})
	require.Less(t, len(lines[1]), 200)
	require.Contains(t, lines[4], strings.Repeat("x", 10_000)+"  y")
}

func TestColoursAreOnlyWhereTheyAreWanted(t *testing.T) {
	require.Contains(t, sample().Lines(&terminal.Output{Color: true})[1], "\x1b[1;31mweb-3 billing pid 17 (blue)\x1b[0m")
	require.NotContains(t, strings.Join(sample().Lines(&terminal.Output{}), ""), "\x1b")
	out := terminal.To(&bytes.Buffer{})
	require.False(t, out.Live)
	require.False(t, out.Color)
	require.Zero(t, out.Width)
}

func TestAScreenShowsWhatFits(t *testing.T) {
	var b bytes.Buffer
	out := &terminal.Output{Writer: &b, Live: true, Height: 2}
	screen, _ := terminal.Open(t.Context(), out, strings.NewReader("q"))
	screen.Draw([]string{"one", "two", "three"})
	screen.Close()
	require.Contains(t, b.String(), "\x1b[Hone\x1b[K\r\ntwo\x1b[K\x1b[J")
	require.NotContains(t, b.String(), "three")
	require.True(t, strings.HasSuffix(b.String(), "\x1b[?25h\x1b[?1049l"))
}

func TestATextIsBrokenAtTheWidth(t *testing.T) {
	require.Equal(t, []string{"next  one two", "      three"}, terminal.Wrap(&terminal.Output{Width: 13}, "next  ", "      ", "one two three"))
	require.Equal(t, []string{"next  one two three"}, terminal.Wrap(&terminal.Output{}, "next  ", "      ", "one two three"))
}
