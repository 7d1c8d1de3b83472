package doctor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/fleet"
)

// So many keys are not walked unasked, so a lock that no entry names may be among them.
func TestLocksAmongManyKeysAreUnknownAndClientsAreNot(t *testing.T) {
	s := single(start(t))
	s.do(t, "eval", "for i = 0, ARGV[1] do redis.call('set', 'foreign:' .. i, 'x') end return 1", 0, fleet.ScanLimit)
	r := s.examine(t, plant{})
	require.Subset(t, unseen(r), []string{"lock-without-ttl", "holder-silent", "permits-of-dead", "twin-names"})
	require.Subset(t, r.Fine, []string{"client-versions", "client-timeouts"})
}
