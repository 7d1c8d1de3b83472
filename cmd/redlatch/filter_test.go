package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

func TestLsShowsWhatIsAskedFor(t *testing.T) {
	srv := redistest.Process(t)
	scene(t, srv.Client(t))
	for args, want := range map[string]string{
		"o":                "import orders:42 customers:9 invoices",
		"or*:*":            "orders:42",
		"*:?":              "customers:9",
		"--dead":           "invoices",
		"--waiting":        "import mail orders:42",
		"--waiting o":      "import orders:42",
		"--host web-3":     "orders:42 customers:9 licences",
		"--host batch-1":   "invoices",
		"--dead orders":    "",
		"--host elsewhere": "",
	} {
		text := show(t, "redis://"+srv.Addr, append([]string{"ls"}, strings.Fields(args)...)...)
		if want == "" {
			require.Equal(t, "Nothing that is held or waited for matches.\n", text, args)
			continue
		}
		var names []string
		for _, line := range strings.Split(strings.TrimSpace(text), "\n")[1:] {
			if !strings.HasPrefix(line, " ") {
				names = append(names, strings.Fields(line)[0])
			}
		}
		require.Equal(t, want, strings.Join(names, " "), args)
	}
}

func TestAPersonWhoLooksAMomentTooEarlySeesTheNameOfTheHolder(t *testing.T) {
	srv := redistest.Process(t)
	hold, err := rlock.New(srv.Client(t), "a").Lock(t.Context())
	require.NoError(t, err)
	text := show(t, "redis://"+srv.Addr, "inspect", "a")
	require.Regexp(t, `held +by \S+ redlatch.test pid \d+, since `, text)
	require.NoError(t, hold.Unlock(t.Context()))
}
