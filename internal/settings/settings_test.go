package settings_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/settings"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheFirstOptionThatMakesNoSenseIsReported(t *testing.T) {
	s := settings.Defaults()
	require.NoError(t, s.Check("a lock", 0))
	s.Fail("first %d", 1)
	s.Fail("second")
	s.Give(settings.TTL)
	err := s.Check("a lock", 0)
	require.ErrorIs(t, err, errs.Invalid)
	require.ErrorContains(t, err, "first 1")
}

func TestAnOptionThatDoesNotApplyIsNamed(t *testing.T) {
	for o, name := range map[settings.Option]string{
		settings.Lease: "WithLease", settings.MaxHold: "WithMaxHold", settings.Wait: "WithWait",
		settings.WatchdogTimeout: "WithWatchdogTimeout", settings.Replicas: "WithReplicas", settings.TTL: "WithTTL",
		settings.Patience: "WithPatience is for fairlock and", settings.BackOff: "WithBackOff is for spinlock and",
		settings.WriterPreference: "WithWriterPreference is for rwlock and", settings.NodeTimeout: "WithNodeTimeout is for redlock and",
		settings.ClockTokens: "WithClockTokens is for fencedlock and", settings.Permits: "WithPermits is for semaphore and permitsemaphore and", settings.NoExpiry: "WithoutExpiry is for permitsemaphore and",
	} {
		s := settings.Defaults()
		s.Give(o)
		require.NoError(t, s.Check("a lock", o|settings.Lease))
		err := s.Check("a thing", ^o)
		require.ErrorIs(t, err, errs.Invalid)
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, "does not apply to a thing; leave it out")
	}
}

func TestAnOutageHasADefaultForEachWayToAsk(t *testing.T) {
	s := settings.Defaults()
	require.Equal(t, 10*time.Second, s.OutageFor(false))
	require.Equal(t, 2*time.Second, s.OutageFor(true))
	s.Outage = time.Minute
	require.Equal(t, time.Minute, s.OutageFor(false))
	require.Equal(t, time.Minute, s.OutageFor(true))
}

func TestNoLeaseReachesPastTheLongestHold(t *testing.T) {
	for _, test := range []struct{ watchdog, lease, most, want time.Duration }{
		{30 * time.Second, 0, 0, 30 * time.Second},
		{30 * time.Second, 5 * time.Second, 0, 5 * time.Second},
		{30 * time.Second, time.Hour, 0, time.Hour},
		{30 * time.Second, 0, 10 * time.Second, 10 * time.Second},
		{30 * time.Second, 5 * time.Second, 10 * time.Second, 5 * time.Second},
		{30 * time.Second, time.Hour, 10 * time.Second, 10 * time.Second},
	} {
		s := settings.Settings{WatchdogTimeout: test.watchdog, Lease: test.lease, MaxHold: test.most}
		require.Equal(t, test.want, s.FirstLease(), "%+v", test)
	}
}
