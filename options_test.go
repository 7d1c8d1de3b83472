package redlatch_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
)

const everything = ^settings.Option(0)

func applied(opts ...redlatch.Option) settings.Settings {
	return rootapi.Apply(settings.Defaults(), opts)
}

func TestOptionsOfACallWinAndLeaveTheDefaultsAlone(t *testing.T) {
	base := applied(redlatch.WithPoll(time.Second), nil)
	call := rootapi.Apply(base, []redlatch.Option{redlatch.WithPoll(2 * time.Second), redlatch.WithPoll(4 * time.Second), redlatch.WithLease(0)})
	require.Equal(t, 4*time.Second, call.Poll)
	require.Error(t, call.Check("", everything))
	require.Equal(t, time.Second, base.Poll)
	require.NoError(t, base.Check("", everything))
}

// What go doc prints of the package is for programs: no type of it is one that they cannot name.
func TestNoDeclarationNamesAnInternalType(t *testing.T) {
	sources, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
		require.NoError(t, err)
		ast.FileExports(file)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BlockStmt:
				return false
			case *ast.FuncDecl: // of a type that go doc does not print
				if n.Recv != nil {
					of, ok := n.Recv.List[0].Type.(*ast.Ident)
					return !ok || of.IsExported()
				}
			case *ast.GenDecl:
				return n.Tok == token.TYPE || n.Tok == token.CONST // the errors of internal/errs are the same values here
			case *ast.SelectorExpr:
				if pkg, ok := n.X.(*ast.Ident); ok {
					require.NotContains(t, []string{"errs", "holds", "settings", "rootapi"}, pkg.Name, "%s: %s.%s", source, pkg.Name, n.Sel.Name)
				}
			}
			return true
		})
	}
}

func TestAValueThatMakesNoSenseIsRefusedWithAdvice(t *testing.T) {
	for _, test := range []struct {
		opt redlatch.Option
		say string
	}{
		{redlatch.WithLease(0), "WithLease(0s): at least 1ms; leave it out"},
		{redlatch.WithLease(-1), "WithLease(-1ns)"},
		{redlatch.WithLease(time.Millisecond - 1), "WithLease(999.999µs)"},
		{redlatch.WithMaxHold(0), "WithMaxHold(0s): at least 1ms"},
		{redlatch.WithMaxHold(-time.Hour), "WithMaxHold(-1h0m0s)"},
		{redlatch.WithWatchdogTimeout(30*time.Millisecond - 1), "at least 30ms, so that three renewals fit in"},
		{redlatch.WithPoll(50*time.Millisecond - 1), "WithPoll(49.999999ms): at least 50ms"},
		{fairlock.WithPatience(0), "WithPatience(0s)"},
		{redlatch.WithOutage(0), "WithOutage(0s): the time is positive"},
		{redlatch.WithReleaseTimeout(time.Millisecond - 1), "WithReleaseTimeout(999.999µs): at least 1ms"},
		{redlatch.WithReplicas(0, time.Second), "at least one replica; leave the option out to wait for none"},
		{redlatch.WithReplicas(1, 0), "the timeout is at least a millisecond"},
		{redlock.WithNodeTimeout(0), "WithNodeTimeout(0s): at least 1ms"},
		{redlatch.WithTTL(0), "WithTTL(0s): at least 1ms; leave it out for no limit"},
		{redlatch.WithSlowWait(-1), "WithSlowWait(-1ns): zero or more; 0 for none"},
		{redlatch.WithLongHold(-1), "WithLongHold(-1ns): zero or more; 0 for none"},
	} {
		s := applied(test.opt)
		err := s.Check("a lock", everything)
		require.ErrorIs(t, err, redlatch.ErrInvalid, test.say)
		require.ErrorContains(t, err, test.say)
	}
}

func TestTheLeastValuesThatMakeSenseAreTaken(t *testing.T) {
	s := applied(
		redlatch.WithLease(time.Millisecond), redlatch.WithMaxHold(time.Millisecond), redlatch.WithWait(1),
		redlatch.WithWatchdogTimeout(30*time.Millisecond), redlatch.WithPoll(50*time.Millisecond), redlatch.WithOutage(1),
		redlatch.WithReleaseTimeout(time.Millisecond), redlatch.WithReplicas(1, time.Millisecond), redlatch.WithTTL(time.Millisecond),
		redlatch.WithObserver(nil), redlatch.WithNameMapper(nil), redlatch.WithLogger(nil), redlatch.WithSlowWait(0),
		redlatch.WithLongHold(0), nil,
	)
	require.NoError(t, s.Check("a lock", everything))
	require.Nil(t, s.Observer)
	require.Nil(t, s.Map)
}

func TestTheLastValueWinsButABadOneIsNotForgotten(t *testing.T) {
	s := applied(redlatch.WithLease(time.Second), redlatch.WithLease(2*time.Second))
	require.NoError(t, s.Check("a lock", everything))
	require.Equal(t, 2*time.Second, s.Lease)
	s = applied(redlatch.WithLease(-1), redlatch.WithLease(time.Second))
	require.ErrorContains(t, s.Check("a lock", everything), "WithLease(-1ns)")
}

func TestOptionsReachTheirSettings(t *testing.T) {
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	s := applied(
		redlatch.WithLease(1*time.Second), redlatch.WithMaxHold(2*time.Second), redlatch.WithWait(3*time.Second),
		redlatch.WithWatchdogTimeout(4*time.Second), redlatch.WithPoll(5*time.Second), redlatch.WithOutage(6*time.Second),
		redlatch.WithReleaseTimeout(7*time.Second), redlatch.WithReplicas(2, 8*time.Second), redlatch.WithTTL(9*time.Second),
		redlatch.WithLogger(logger),
		redlatch.WithSlowWait(11*time.Second), redlatch.WithLongHold(12*time.Second),
		redlatch.WithNameMapper(func(name string) string { return "p:" + name }),
	)
	require.NoError(t, s.Check("a lock", everything))
	require.Equal(t, []time.Duration{1e9, 2e9, 3e9, 4e9, 5e9, 6e9, 7e9, 8e9, 9e9, 11e9, 12e9}, []time.Duration{
		s.Lease, s.MaxHold, s.Wait, s.WatchdogTimeout, s.Poll, s.Outage, s.ReleaseTimeout, s.ReplicaTimeout, s.TTL, s.SlowWait, s.LongHold,
	})
	require.Equal(t, 2, s.Replicas)
	s.Logger.Warn("a line")
	require.Contains(t, log.String(), "a line")
	require.Equal(t, "p:x", s.Map("x"))
}

func TestAMaxHoldIsNotRoundedUp(t *testing.T) {
	s := applied(redlatch.WithMaxHold(2*time.Millisecond - 1))
	require.Equal(t, time.Millisecond, s.MaxHold)
	require.Equal(t, time.Millisecond, s.FirstLease())
}

// here is the file and line of the call that is made there.
func here() string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", filepath.Base(file), line)
}

func TestASecondPackageCannotRenameTheHoldsOfTheFirst(t *testing.T) {
	client := redistest.Mini(t).Client(t)
	first := here()
	require.NoError(t, redlatch.Configure(client, redlatch.WithLabel("billing"), redlatch.WithoutRegistry(), nil)) // the line after
	require.NoError(t, redlatch.Configure(client, redlatch.WithLabel("billing")))
	rlock.New(client, "orders")
	second := here()
	err := redlatch.Configure(client, redlatch.WithLabel("invoices")) // the line after
	require.ErrorIs(t, err, redlatch.ErrInvalid)
	for _, place := range []string{first, second} {
		file, line := filepath.Base("options_test.go"), 0
		_, scanned := fmt.Sscanf(place, file+":%d", &line)
		require.NoError(t, scanned)
		require.ErrorContains(t, err, fmt.Sprintf("%s:%d", file, line+1))
	}
	require.ErrorContains(t, err, "WithLabel")
	require.ErrorIs(t, redlatch.Configure(client, redlatch.WithRegistry("")), redlatch.ErrInvalid, "another than without")
}

func TestABadValueOfAClientIsRefusedAndNothingOfTheCallCounts(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	for say, bad := range map[string]redlatch.ClientOption{
		"WithLinger(-1ns): zero or more": redlatch.WithLinger(-1), "a prefix has no braces": redlatch.WithRegistry("{a}"),
	} {
		err := redlatch.Configure(client, redlatch.WithLabel(say), bad)
		require.ErrorIs(t, err, redlatch.ErrInvalid)
		require.ErrorContains(t, err, say)
	}
	require.NoError(t, redlatch.Configure(client, redlatch.WithLabel("x"), redlatch.WithLinger(0), redlatch.WithRegistry("a:"),
		redlatch.WithCluster(), redlatch.WithShardedPubSub(false)))
	require.NoError(t, redlatch.Configure(client))
	require.ErrorIs(t, redlatch.Configure(nil), redlatch.ErrInvalid)
}
