package document_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/document"
)

func TestANameReachesATerminalOnlyIfItIsHarmless(t *testing.T) {
	for name, shown := range map[string]string{
		"orders:42": "orders:42", "größe/{a}": "größe/{a}", "": `""`, "a b": `"a b"`, "\x1b[2J": `"\x1b[2J"`, "a\rb": `"a\rb"`,
		"a\xff": `"a\xff"`, "a\u202eb": `"a\u202eb"`, `"`: `"\""`, "a\u00a0b": `"a\u00a0b"`, "a\u200bb": `"a\u200bb"`,
	} {
		require.Equal(t, shown, document.Quote(name))
	}
}

func TestJSONHasTheExactBytesBeside(t *testing.T) {
	require.Equal(t, document.Name{Text: "a\uFFFD", Base64: "Yf8="}, document.NameOf("a\xff"))
}
