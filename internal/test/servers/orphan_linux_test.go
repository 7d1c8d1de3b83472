package servers_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/servers"
)

// orphan makes the test binary a program that starts a server and is killed.
const orphan = "REDLATCH_TEST_ORPHAN"

func TestServersDieWithTheProgramThatStartedThem(t *testing.T) {
	program(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), orphan+"=1")
	out, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	addr, err := bufio.NewReader(out).ReadString('\n')
	ok(t, err)
	addr = strings.TrimSpace(addr)
	conn, err := net.Dial("tcp", addr)
	ok(t, err)
	_ = conn.Close()
	ok(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	redistest.Eventually(t, "the server is gone", func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
}

// The main goroutine keeps the main thread, which never ends, until all packages are initialized.
func init() {
	if os.Getenv(orphan) != "" {
		becomeOrphan()
	}
}

// becomeOrphan starts a server from a thread that ends, which must not end the server, and prints its address.
func becomeOrphan() {
	addr := make(chan string)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		s, err := servers.Start()
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		addr <- s.Addr()
	}()
	text := <-addr
	time.Sleep(100 * time.Millisecond) // for the thread to end
	fmt.Println(text)
	select {}
}
