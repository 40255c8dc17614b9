"""The speakers of TIMIT's splits: the 24 of the core test (corpus documentation) and the 50 for development (Kaldi)."""

from __future__ import annotations

_DEVELOPMENT = """
faks0 fdac1 fjem0 mgwt0 mjar0 mmdb1 mmdm2 mpdf0 fcmh0 fkms0 mbdg0 mbwm0 mcsh0 fadg0 fdms0 fedw0 mgjf0 mglb0 mrtk0
mtaa0 mtdt0 mthc0 mwjg0 fnmr0 frew0 fsem0 mbns0 mmjr0 mdls0 mdlf0 mdvc0 mers0 fmah0 fdrw0 mrcs0 mrjm4 fcal1 mmwh0
fjsj0 majc0 mjsw0 mreb0 fgjd0 fjmg0 mroa0 mteb0 mjfc0 mrjr0 fmml0 mrws1
"""
_CORE_TEST = """
mdab0 mwbt0 felc0 mtas1 mwew0 fpas0 mjmp0 mlnt0 fpkt0 mlll0 mtls0 fjlm0 mbpm0 mklt0 fnlp0 mcmj0 mjdh0 fmgd0 mgrt0
mnjm0 fdhc0 mjln0 mpam0 fmld0
"""

#: Development speakers, all from the corpus's TEST folder and none of them in the core test.
DEVELOPMENT = frozenset(_DEVELOPMENT.split())
#: Speakers of the core test: two men and one woman of each of the eight dialect regions.
CORE_TEST = frozenset(_CORE_TEST.split())
#: The split of each dialect region of the free sample, which has two speakers per region.
SAMPLE_REGIONS = dict.fromkeys("123456", "train") | {"7": "valid", "8": "test"}
