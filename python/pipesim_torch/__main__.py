"""python -m pipesim_torch: python -m pipesim.torch."""

from pipesim.torch.__main__ import main

if __name__ == "__main__":
    main()
