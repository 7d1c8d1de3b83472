package interop_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever comes from Redisson finds each of its methods in docs/redisson.md, with what there is instead or why nothing is.
func TestThePageNamesEveryMethodOfRedisson(t *testing.T) {
	page, err := os.ReadFile("../docs/redisson.md")
	require.NoError(t, err)
	method := regexp.MustCompile("`([a-zA-Z]+)")
	for section, classes := range map[string][]string{
		"RLock":                     {"java.util.concurrent.locks.Lock", "org.redisson.api.RLock", "org.redisson.api.RObservable"},
		"RFencedLock":               {"org.redisson.api.RFencedLock"},
		"RReadWriteLock":            {"org.redisson.api.RReadWriteLock"},
		"RSemaphore":                {"org.redisson.api.RSemaphore"},
		"RPermitExpirableSemaphore": {"org.redisson.api.RPermitExpirableSemaphore"},
		"RCountDownLatch":           {"org.redisson.api.RCountDownLatch"},
		"RExpirable and RObject":    {"org.redisson.api.RExpirable", "org.redisson.api.RObject"},
	} {
		_, text, ok := strings.Cut(string(page), "\n### "+section+"\n")
		require.True(t, ok, section)
		text, _, _ = strings.Cut(text, "\n### ")
		var named []string
		for _, row := range strings.Split(text, "\n") {
			if cells := strings.SplitN(row, " | ", 2); len(cells) == 2 {
				for _, found := range method.FindAllStringSubmatch(cells[0], -1) {
					named = append(named, found[1])
				}
			}
		}
		for _, class := range classes {
			var methods []string
			require.NoError(t, redisson.start(t).call(fields{"op": "methods", "name": class}, &methods))
			require.NotEmpty(t, methods)
			require.Subset(t, named, methods, class)
		}
	}
}
