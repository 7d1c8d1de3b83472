package row_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/row"
)

// A key that a script declares costs the server time also where the script does not look at it, and most releases are of locks for
// which nothing waits.
func TestAScriptDeclaresTheKeysOfTheRowThatItUses(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			lone, yields := row.Turn{Row: rows, Lease: brief}, row.Turn{Row: rows, Lease: brief, Shut: time.Second, Open: time.Millisecond}
			own := []any{key}
			if f.fenced {
				own = append(own, token)
			}
			require.Equal(t, append(own, line, alive), declared(f.pass(a, wake, lone)))
			require.Equal(t, append(own, line, alive, open, windows), declared(f.pass(a, wake, yields)))
			require.Equal(t, append(own, line, alive, open), declared(f.enlist(a, lease, patience)))
		})
	}
	given := func(turn row.Turn) []row.Given {
		return []row.Given{{Key: key, Owner: a, Channel: channel, Turn: turn}, {Key: other, Owner: b}}
	}
	require.Equal(t, []any{key, other, line, alive}, declared(row.PassAll(given(row.Turn{Row: rows}), "PUBLISH")))
	require.Equal(t, []any{key, other, line, alive, open, windows}, declared(row.PassAll(given(row.Turn{Row: rows, Shut: time.Second}), "PUBLISH")))
}

func declared[R any](c scripts.Command[R]) []any {
	args := c.Cmder(context.Background(), false).Args()
	return args[3 : 3+args[2].(int)]
}
