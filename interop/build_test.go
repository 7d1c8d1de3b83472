package interop_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	javaFolder = "java"

	// versionVariable names the version of Redisson that the Java side runs with. Without it that is the one in pom.xml.
	versionVariable = "REDLATCH_REDISSON_VERSION"
)

// build has Maven compile the Java side unless what lies in its target folder was compiled from the same sources. It
// returns the class path.
//
// The Java side is compiled once, with the version of Redisson in pom.xml, and linked when it runs: what an older
// version has not got is an error of the command that needs it.
func build() (string, error) {
	sum, err := sourceSum()
	if err != nil {
		return "", err
	}
	target := filepath.Join(javaFolder, "target")
	stamp := filepath.Join(target, "sources.sha256")
	if done, err := os.ReadFile(stamp); err != nil || string(done) != sum {
		// What was compiled from other sources must not be on the class path.
		if err := os.RemoveAll(target); err != nil {
			return "", err
		}
		maven := exec.Command("mvn", "--quiet", "--batch-mode", "compile")
		maven.Dir = javaFolder
		if out, err := maven.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build the Java side in interop/java: %w (it needs mvn, a JDK 17, and Maven Central or its copy in ~/.m2)\n%s", err, out)
		}
		if err := os.WriteFile(stamp, []byte(sum), 0o600); err != nil {
			return "", err
		}
	}
	libraries, err := libraries(target)
	return filepath.Join(target, "classes") + string(os.PathListSeparator) + filepath.Join(libraries, "*"), err
}

// libraries is the folder with Redisson, in the version that is asked for, and with what that needs. Maven keeps the
// copies that it makes it from in ~/.m2.
func libraries(target string) (string, error) {
	version := os.Getenv(versionVariable)
	if version == "" {
		return filepath.Join(target, "lib"), nil
	}
	folder := filepath.Join(target, "lib-"+version)
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	unfinished, err := filepath.Abs(folder + ".part")
	if err != nil {
		return "", err
	}
	maven := exec.Command("mvn", "--quiet", "--batch-mode", "-Dredisson.version="+version, "-DincludeScope=runtime",
		"-DoutputDirectory="+unfinished, "dependency:copy-dependencies")
	maven.Dir = javaFolder
	if out, err := maven.CombinedOutput(); err != nil {
		return "", fmt.Errorf("fetch Redisson %s: %w\n%s", version, err, out)
	}
	return folder, os.Rename(unfinished, folder)
}

// sourceSum is the hash of everything that Maven builds from.
func sourceSum() (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(javaFolder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "target":
			return fs.SkipDir
		case !entry.IsDir() && (strings.HasSuffix(path, ".java") || entry.Name() == "pom.xml"):
			text, err := os.ReadFile(path)
			fmt.Fprintf(sum, "%s %d\n%s", filepath.ToSlash(path), len(text), text)
			return err
		}
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}
