//go:build unix

package guard

import (
	"encoding/json"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pipes make the ends of a pipe of which the writing one does not block.
func pipes(t *testing.T) (out *os.File, in *os.File) {
	t.Helper()
	var ends [2]int
	require.NoError(t, syscall.Pipe(ends[:]))
	require.NoError(t, syscall.SetNonblock(ends[1], true))
	out, in = os.NewFile(uintptr(ends[0]), "out"), os.NewFile(uintptr(ends[1]), "in")
	t.Cleanup(func() { out.Close(); in.Close() })
	return out, in
}

// A machine that is busy lets a deadline pass before anything is written.
func TestAMessageIsNotDroppedWhileThePipeHasRoom(t *testing.T) {
	out, in := pipes(t)
	s := NewSender(in)
	defer func(before time.Duration) { patience = before }(patience)
	patience = -time.Second // it is over at once
	require.NoError(t, s.Send(Report{Kind: Started, Pid: 7}))
	require.NoError(t, in.Close())
	var got Report
	require.NoError(t, json.NewDecoder(out).Decode(&got))
	require.Equal(t, Report{Kind: Started, Pid: 7}, got)
}

func TestAMessageThatIsDroppedDoesNotSpoilTheNextOnes(t *testing.T) {
	out, in := pipes(t)
	s := NewSender(in)
	sent := 0
	for s.Send(Order{Kind: Trust, Until: time.Duration(sent)}) == nil {
		sent++
	}
	reports := receive[Order](json.NewDecoder(out))
	for i := range sent {
		require.Equal(t, Order{Kind: Trust, Until: time.Duration(i)}, <-reports)
	}
	require.NoError(t, s.Send(Order{Kind: Stop}))
	require.Equal(t, Order{Kind: Stop}, <-reports)
	require.NoError(t, in.Close())
	_, more := <-reports
	require.False(t, more)
}

func TestAPlanTravelsWithArgumentsOfAnyBytes(t *testing.T) {
	out, in := pipes(t)
	plan := Plan{Path: "/bin/\xff", Args: []Bytes{"a\xfe b", ""}, Until: 5, Lend: true}
	require.NoError(t, NewSender(in).Send(plan))
	var got Plan
	require.NoError(t, json.NewDecoder(out).Decode(&got))
	require.Equal(t, plan, got)
}
