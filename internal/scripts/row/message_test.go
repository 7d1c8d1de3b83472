package row_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts/row"
)

func TestAMessageIsReadAsItWasWritten(t *testing.T) {
	for text, want := range map[string]row.Message{
		a:                              {Owner: a, Looks: true},
		a + " 1795000000000 0 0":       {Owner: a, At: 1795000000000},
		a + " 1795000000000 17 39":     {Owner: a, At: 1795000000000, Token: 17, Shut: 39 * time.Millisecond},
		a + " 1 9223372036854775807 0": {Owner: a, At: 1, Token: 9223372036854775807}, // beyond what a float64 has room for
	} {
		got, ok := row.Read(text)
		require.True(t, ok, text)
		require.Equal(t, want, got)
	}
}

// The channel may be published on by anybody who is allowed to.
func TestWhatNobodyOfThisLibraryHasSentIsNoMessage(t *testing.T) {
	good := strings.Fields(a + " 1795000000000 17 39")
	for _, text := range []string{"", "0", " ", strings.Repeat(" ", 4), a + " 1795000000000"} {
		_, ok := row.Read(text)
		require.False(t, ok, "%q", text)
	}
	for i := range good {
		_, ok := row.Read(strings.Join(append(append([]string{}, good[:i]...), good[i+1:]...), " "))
		require.False(t, ok, "without field %d", i)
		if i == 0 {
			continue
		}
		for _, bad := range []string{"", "x", "1.5", "1e3", "0x1", "9223372036854775808", "1\n"} {
			fields := append([]string{}, good...)
			fields[i] = bad
			_, ok := row.Read(strings.Join(fields, " "))
			require.False(t, ok, "%q as field %d", bad, i)
		}
	}
	_, ok := row.Read(strings.Join(good, " ") + " 1")
	require.False(t, ok, "one field too many")
}
