//go:build unix

package main

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/guard"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/run"
	"github.com/redlatch/redlatch/internal/clock"
)

// guarded starts a guard as the holder does, with orders that it finds when it has started, and returns what it reports to its end.
func guarded(t *testing.T, orders ...any) (kinds []guard.ReportKind) {
	t.Helper()
	ordersOut, ordersIn, err := os.Pipe()
	require.NoError(t, err)
	reportsOut, reportsIn, err := os.Pipe()
	require.NoError(t, err)
	defer func() {
		require.NoError(t, ordersIn.Close())
		require.NoError(t, reportsOut.Close())
	}()
	sender := guard.NewSender(ordersIn)
	for _, order := range orders {
		require.NoError(t, sender.Send(order))
	}
	cmd := exec.Command(binary, run.GuardCommand, "3", "4")
	cmd.ExtraFiles = []*os.File{ordersOut, reportsIn}
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	require.NoError(t, ordersOut.Close())
	require.NoError(t, reportsIn.Close())
	for report := range guard.Reports(reportsOut) {
		kinds = append(kinds, report.Kind)
	}
	require.NoError(t, cmd.Wait())
	return kinds
}

// A guard whose start takes longer than the trust of its plan lasts goes by what the holder has said meanwhile.
func TestAGuardThatStartsLateHearsOfTheRenewalsMeanwhile(t *testing.T) {
	plan := guard.Plan{Path: "/bin/sh", Args: []guard.Bytes{"sh", "-c", "exit 0"}, Until: clock.Boot(), Slack: time.Hour}
	renewed := guard.Order{Kind: guard.Trust, Until: clock.Boot() + 2*time.Hour}
	require.Equal(t, []guard.ReportKind{guard.Started, guard.Exited, guard.Gone}, guarded(t, plan, renewed))
	require.Equal(t, []guard.ReportKind{guard.Ending, guard.Gone}, guarded(t, plan, guard.Order{Kind: guard.Stop}, renewed), "the lock is lost")
	plan.Slack = time.Millisecond
	require.Equal(t, []guard.ReportKind{guard.Ending, guard.Gone}, guarded(t, plan), "there was no renewal")
}
