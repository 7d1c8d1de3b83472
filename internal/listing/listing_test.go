package listing_test

import (
	"runtime"
	"testing"
	"weak"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/listing"
	"github.com/redlatch/redlatch/internal/reporter"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

var _ redlatch.Client = (*redis.Client)(nil) // the root package plugs the listing in

func TestMain(m *testing.M) { redistest.Main(m) }

// A thing that is kept may be looked at at once.
type thing struct{ listing.Reported }

func (thing) Report(*reporter.Snapshot) {}

func TestNothingIsListedWhereTheEnvironmentSaysSo(t *testing.T) {
	for value, there := range map[string]bool{"on": true, "off": false} {
		t.Setenv("REDLATCH_REGISTRY", value)
		client := redis.NewClient(&redis.Options{})
		t.Cleanup(func() { _ = client.Close() })
		set := settings.Defaults()
		s := session.Of(client, &set)
		l := listing.Of(s)
		for _, said := range []session.Setting{nil, session.Label("x"), session.Registry{Prefix: "x:"}} {
			l.Heed(said)
			require.Equal(t, there, l.Reports())
		}
		l.AtOnce()
		l.Keep(thing{})()
		l.Leave()
		l.Retire()
		said, err := listing.Ask(t.Context(), s, "lock", "name", s.ID+":1")
		require.NoError(t, err)
		require.NotZero(t, said.PID, "the client knows itself")
	}
}

// Its reporter is armed then.
func TestASessionThatIsInTheRegistryGoesWithItsLastUser(t *testing.T) {
	t.Setenv("REDLATCH_REGISTRY", "on")
	client := redis.NewClient(&redis.Options{})
	t.Cleanup(func() { _ = client.Close() })
	use := func() weak.Pointer[session.Session] {
		set := settings.Defaults()
		s := session.Of(client, &set)
		_, _, part := s.Join(cohort.KeyFor("k", "lock"), session.Channels{})
		part()
		require.True(t, s.Listed.Load())
		return weak.Make(s)
	}
	s := use()
	redistest.Eventually(t, "the session is collected", func() bool {
		runtime.GC()
		return s.Value() == nil
	})
}
