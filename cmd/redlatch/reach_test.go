package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/connect"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// TestACommandSeesAllMastersOfACluster has the form of a cluster.
func TestACommandReachesItsServerByEachFormOfAURL(t *testing.T) {
	reach := func(args ...string) {
		t.Helper()
		code, stdout, stderr := use(append([]string{"countdown", "import", "--set", "3"}, args...)...)
		require.Equal(t, exit.OK, code, stderr)
		require.Equal(t, "import: 3 to go\n", stdout)
		code, stdout, stderr = use(append([]string{"inspect", "import"}, args...)...)
		require.Equal(t, exit.OK, code, stderr)
		require.Contains(t, stdout, "latch")
	}
	group := redistest.Sentinel(t)
	reach("--url", "redis+sentinel://"+group.Addrs()[0]+","+group.Addrs()[1]+"/"+group.MasterName)

	socket := filepath.Join(t.TempDir(), "socket")
	srv := redistest.Process(t, "--unixsocket", socket)
	reach("--url", "unix://"+socket)
	reach("--url", "unix://"+socket+"?db=1")
	reach("--url", "redis://"+srv.Addr+"/2")

	secured, authority := throughTLS(t, srv.Addr)
	reach("--url", "rediss://"+secured+"/3", "--tls-ca", authority, "--tls-name", "redis.test")
	reach("--url", "redis://"+secured+"/4", "--tls", "--tls-insecure")
	code, _, stderr := use("ls", "--url", "rediss://"+secured)
	require.Equal(t, exit.Unavailable, code, "nobody vouches for the certificate: %s", stderr)

	// A password, from a file or the environment.
	require.NoError(t, srv.Client(t).Do(t.Context(), "acl", "setuser", "ada", "on", ">secret", "~*", "&*", "+@all").Err())
	url := "redis://ada@" + srv.Addr
	code, _, stderr = use("ls", "--url", url)
	require.Equal(t, exit.Denied, code, "without it nobody becomes the default user: %s", stderr)
	require.NoError(t, srv.Client(t).Do(t.Context(), "acl", "setuser", "grace", "on", "nopass", "~*", "&*", "+@all").Err())
	reach("--url", "redis://grace@"+srv.Addr+"/7")
	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte("secret\n"), 0o600))
	reach("--url", url+"/5", "--password-file", file)
	t.Setenv(connect.PasswordVariable, "secret")
	reach("--url", url+"/6")
}

// A server that speaks TLS and a URL that does not, or the other way about, is told in one sentence by each command.
func TestTLSOnOneSideOnlyIsToldByEachCommand(t *testing.T) {
	srv := redistest.Process(t)
	secured, _ := throughTLS(t, srv.Addr)
	for url, sentence := range map[string]string{
		"redis://" + secured:   "if the server wants TLS, the URL begins with rediss://",
		"rediss://" + srv.Addr: "see that it is a Redis server, and that it speaks TLS if the URL begins with rediss://",
	} {
		for _, args := range [][]string{{"ls"}, {"inspect", "x"}, {"check", "--window", "1s"}, {"doctor", "--window", "1s", "-o", "json"}} {
			_, stdout, stderr := use(append(args, "--url", url)...)
			require.Contains(t, stdout+stderr, sentence, args)
		}
	}
}

// throughTLS starts a proxy in front of the server to, which speaks TLS under the name redis.test. It returns the address of the proxy,
// and the file with the certificate of its authority.
func throughTLS(t *testing.T, to string) (addr, authority string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, DNSNames: []string{"redis.test"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	authority = filepath.Join(t.TempDir(), "authority")
	require.NoError(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	certificate := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go pass(conn, to)
		}
	}()
	return listener.Addr().String(), authority
}

// pass ends when one side does.
func pass(conn net.Conn, to string) {
	defer conn.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, conn)
		_ = server.Close()
	}()
	_, _ = io.Copy(conn, server)
}
