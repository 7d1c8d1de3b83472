package redistest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAWitnessTellsKeysThatWereNotDeclared(t *testing.T) {
	w := witness{found: map[string]int{}}
	for _, line := range []string{
		`1.1 [0 127.0.0.1:9] "EVALSHA" "5ba" "2" "a" "b\"\x01" "c"`,
		`1.2 [0 lua] "hget" "a" "c"`, `1.2 [0 lua] "publish" "c" "c"`, `1.2 [0 lua] "DEL" "a" "b\"\x01"`,
		`1.3 [0 127.0.0.1:9] "get" "c"`,
	} {
		w.hear("+" + line + "\r\n")
	}
	require.Empty(t, w.found)
	w.hear(`+1.4 [0 lua] "exists" "a" "c"` + "\r\n")
	require.Len(t, w.found, 1)
	w.hear(`+1.4 [0 127.0.0.1:9] "evalsha" "5ba" "1" "a" "c"` + "\r\n")
	w.hear(`+1.4 [0 lua] "get" "b\"\x01"` + "\r\n")
	require.Len(t, w.found, 2)
	require.False(t, w.over)
	w.hear(`+1.5 [0 127.0.0.1:9] "echo" "` + lastWord + `"` + "\r\n")
	require.True(t, w.over)
}
